/* tenon/error.h: one error record per thread.
 *
 * A call that fails returns NULL (or a status other than TN_OK) after setting the calling thread's record: a code, and
 * a message that names the operation, its operands, the caller's file and line, and what would mend it. A later failure
 * replaces it. A call that is handed a failed (NULL) operand returns NULL and leaves the record alone, so a chain of
 * calls is checked once, at its end. Successful calls never touch the record.
 *
 * What is no failure but should be known (products without cuBLAS, a cache that cannot be written to) is said once in a process,
 * as a line on the standard error output, or by the program's own handler of warnings.
 */
#ifndef TENON_ERROR_H
#define TENON_ERROR_H

#include <tenon/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The code of this thread's last failure, TN_OK if there was none since tn_error_clear(). */
TN_API tn_status tn_error_code(void);

/* Its message, "" if there was none. Valid until this thread's next failing call. */
TN_API const char *tn_error_message(void);

TN_API void tn_error_clear(void);

/* "TN_EINVAL" for TN_EINVAL and so on; "TN_?" for a number that is no code. */
TN_API const char *tn_status_name(tn_status code);

/* Called with a message of one or more lines, valid during the call, in whichever thread something is to be warned of, in the
 * middle of its call: it takes a note, and calls nothing of the library. */
typedef void (*tn_warning_handler)(const char *message);

/* One for the whole process, from now on; NULL: nothing is said. Returns the one before; at first that is one that writes a line
 * to the standard error output. */
TN_API tn_warning_handler tn_set_warning_handler(tn_warning_handler handler);

#ifdef __cplusplus
}
#endif
#endif
