/* core/unload.h: what happens when the library ends before the process: dlclose of a plugin that the static library is part
 * of. (The shared library stays once it is loaded: CMakeLists.txt links it so.) Threads that run its code end, and what it
 * keeps is given back. Whatever uses it then is a mistake of its user: a plugin frees its loaders and joins its own threads
 * before it goes. At the end of the process nothing of this happens. */
#ifndef TENON_CORE_UNLOAD_H
#define TENON_CORE_UNLOAD_H

/* From the first use of the library on: is it told when it goes? */
void tn__unload_watch(void);

/* 'f' is called once when the library goes, after the pool's threads and what scopes own; the last one said is the first
 * called. For what floors above keep. */
void tn__at_unload(void (*f)(void));

#endif
