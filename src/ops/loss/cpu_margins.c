/* The loss of rows whose targets are several classes, for the CPU: a pass over the scores of each row for each of its targets. */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/parallel.h"

enum { WORK = 16384 };

typedef struct margin_job {
    const tn__launch *l;
    int64_t classes;
    _Atomic tn_status status; /* TN_EINVAL: a target is no class */
} margin_job;

/* What a row is computed with: numbers of all of its classes. */
typedef struct margin_row {
    double *x, *slope;
    double *other; /* 1 where the class is no target, else 0 */
} margin_row;

/* How many targets there are up to the first -1; -1 where one of all of them is no class. */
static int64_t targets_of(const int64_t *target, int64_t classes)
{
    int64_t n = classes;
    uint64_t most = 0;
    for (int64_t k = classes - 1; k >= 0; k--) {
        const uint64_t place = (uint64_t)target[k] + 1;
        most = TN_MAX(most, place);
        n = target[k] < 0 ? k : n;
    }
    return most > (uint64_t)classes ? -1 : n;
}

/* max(0, 1 - x[t] + x[j]) of a target t and all other classes j, summed; NaN counts as nothing, as PyTorch has it. */
static double against_others(const margin_row *r, int64_t t, int64_t classes)
{
    const double margin = 1 - r->x[t];
    double sum = 0, many = 0;
    for (int64_t j = 0; j < classes; j++) {
        const double z = margin + r->x[j], counts = z > 0 ? r->other[j] : 0;
        sum += counts != 0 ? z : 0;
        many += counts;
        r->slope[j] += counts;
    }
    r->slope[t] -= many;
    return sum;
}

static double loss_of_row(const margin_row *r, const int64_t *target, int64_t targets, int64_t classes)
{
    double sum = 0;
    for (int64_t j = 0; j < classes; j++) {
        r->other[j] = 1;
        r->slope[j] = 0;
    }
    for (int64_t k = 0; k < targets; k++)
        r->other[target[k]] = 0;
    for (int64_t k = 0; k < targets; k++)
        sum += against_others(r, target[k], classes);
    for (int64_t j = 0; j < classes; j++)
        r->slope[j] /= (double)classes;
    return sum / (double)classes;
}

static void margin_rows(void *ctx, int64_t begin, int64_t end)
{
    margin_job *j = ctx;
    const tn__view *x = &j->l->in[0], *loss = &j->l->out[0], *slope = &j->l->out[1];
    const int64_t n = j->classes, size = (int64_t)tn__dtype_size(x->dtype);
    const tn__load load = tn__isa()->load[x->dtype][TN__F64];
    const tn__store store = tn__isa()->store[x->dtype][TN__F64];
    const size_t bytes = 3 * (size_t)n * sizeof(double);
    double *room = tn__block_get(bytes);
    if (!room) {
        j->status = TN_ENOMEM;
        return;
    }
    const margin_row r = {room, room + n, room + 2 * n};
    for (int64_t i = begin; i < end; i++) {
        const int64_t *target = (const int64_t *)j->l->in[1].data + i * n, targets = targets_of(target, n);
        char *to = (char *)slope->data + i * n * size;
        double sum = 0;
        if (targets < 0)
            j->status = TN_EINVAL;
        if (targets <= 0) {
            memset(to, 0, (size_t)(n * size));
        } else {
            load(r.x, (const char *)x->data + i * n * size, 1, n);
            sum = loss_of_row(&r, target, targets, n);
            store(to, 1, r.slope, n);
        }
        tn__store_double(loss->dtype, (char *)loss->data + i * size, sum);
    }
    tn__block_put(room, bytes);
}

/* in: x [n, classes], target; out: the losses [n], and how they grow with each score */
tn_status tn__cpu_multilabel_margin(const tn__launch *l)
{
    const tn__view *x = &l->in[0];
    margin_job j = {.l = l, .classes = x->shape[1]};
    tn__parallel_for(x->shape[0], tn__div_up(WORK, j.classes), margin_rows, &j);
    return j.status == TN_ENOMEM   ? tn__error_memory("a row of scores", 3 * (size_t)j.classes * sizeof(double))
           : j.status == TN_EINVAL ? tn__error(TN_EINVAL, "argument #2 'target' is out of range")
                                   : TN_OK;
}
