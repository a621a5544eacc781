/* Nuclear norms and polar factors, by one-sided Jacobi rotations (Hestenes): columns are rotated, two at a time, until each
 * is orthogonal to each. Then they are U S, and what rotated them is V. All of it in double.
 *
 * The rotation, and pairs in the order of a tournament, so that those of a round share no column: Golub and Van Loan,
 * Matrix Computations, 4th edition, section 8.5; one-sided: section 8.6. Its form that changes lengths least:
 * Rutishauser, The Jacobi Method for Real Symmetric Matrices, Numer. Math. 9 (1966). When two columns are orthogonal,
 * |p q| <= sqrt(rows) eps |p| |q|, relative to both: Drmac and Veselic, New Fast and Accurate Jacobi SVD Algorithm I,
 * SIAM J. Matrix Anal. Appl. 29 (2008). */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/parallel.h"
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

enum { LANES = 4, SWEEPS = 60, WORK = 8192 };
enum { GOOD, NO_MEMORY, NOT_A_NUMBER, NO_CONVERGENCE };

/* Squared length of a column, where the largest element of the matrix is about 1, below which it is zero: products of
 * two of these do not underflow. */
static const double nothing = 1e-200;

typedef struct svd_job {
    const tn__launch *l;
    int64_t rows, columns;      /* rows >= columns: of x, or of its transpose */
    int64_t row_step, col_step; /* strides of in those, in elements */
    int64_t out_row, out_col;   /* the same of the polar factor */
    int64_t count;              /* of matrices */
    bool polar;                 /* the factor, not the norm */
    _Atomic uint64_t failure;   /* index << 2 | what, of the first matrix that failed */
} svd_job;

/* One matrix at work. Columns are contiguous and padded with zeros to a multiple of LANES. */
typedef struct svd {
    int64_t rows, columns, ldw, ldv, round;
    double *w, *v, *spare; /* v: NULL if not wanted; spare: a column */
    double orthogonal;
    int exponent; /* of what w was divided by */
    bool infinite;
    _Atomic bool rotated;
} svd;

static int64_t padded(int64_t n)
{
    return tn__div_up(n, LANES) * LANES;
}

/* out: |p|^2, |q|^2, p q */
static void products(const double *p, const double *q, int64_t n, double out[3])
{
    double a[LANES] = {0}, b[LANES] = {0}, g[LANES] = {0};
    for (int64_t i = 0; i < n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            a[k] += p[i + k] * p[i + k];
            b[k] += q[i + k] * q[i + k];
            g[k] += p[i + k] * q[i + k];
        }
    out[0] = (a[0] + a[1]) + (a[2] + a[3]);
    out[1] = (b[0] + b[1]) + (b[2] + b[3]);
    out[2] = (g[0] + g[1]) + (g[2] + g[3]);
}

static double squared_length(const double *p, int64_t n)
{
    double out[3];
    products(p, p, n, out);
    return out[0];
}

/* p and q become c p - s q and s p + c q, where c = 1 - s h. */
static void rotate_columns(double *restrict p, double *restrict q, int64_t n, double s, double h)
{
    for (int64_t i = 0; i < n; i++) {
        const double x = p[i], y = q[i];
        p[i] = x - s * (y + h * x);
        q[i] = y + s * (x - h * y);
    }
}

static void rotate_pair(svd *m, int64_t p, int64_t q)
{
    double *wp = m->w + p * m->ldw, *wq = m->w + q * m->ldw, d[3];
    products(wp, wq, m->ldw, d);
    if (d[0] <= nothing || d[1] <= nothing || fabs(d[2]) <= m->orthogonal * sqrt(d[0]) * sqrt(d[1]))
        return;
    /* the smaller root t of t^2 + 2 zeta t = 1 makes the rotated columns orthogonal */
    const double zeta = (d[1] - d[0]) / (2 * d[2]), t = copysign(1 / (fabs(zeta) + sqrt(1 + zeta * zeta)), zeta);
    const double c = 1 / sqrt(1 + t * t), s = c * t, h = s / (1 + c);
    rotate_columns(wp, wq, m->ldw, s, h);
    if (m->v)
        rotate_columns(m->v + p * m->ldv, m->v + q * m->ldv, m->ldv, s, h);
    m->rotated = true;
}

/* Who stands at a place in a round of a tournament: the first stays, the others move on. */
static int64_t player(int64_t place, int64_t round, int64_t players)
{
    return place ? 1 + (place - 1 + round) % (players - 1) : 0;
}

static void rotate_pairs(void *ctx, int64_t begin, int64_t end)
{
    svd *m = ctx;
    const int64_t players = m->columns + (m->columns & 1); /* of an odd number one rests */
    for (int64_t i = begin; i < end; i++) {
        const int64_t a = player(i, m->round, players), b = player(players - 1 - i, m->round, players);
        if (TN_MAX(a, b) < m->columns)
            rotate_pair(m, TN_MIN(a, b), TN_MAX(a, b));
    }
}

static bool make_orthogonal(svd *m)
{
    const int64_t players = m->columns + (m->columns & 1);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        m->rotated = false;
        for (m->round = 0; m->round < players - 1; m->round++)
            tn__parallel_for(players / 2, tn__div_up(WORK, m->ldw), rotate_pairs, m);
        if (!m->rotated)
            return true;
    }
    return false;
}

/* ---- the polar factor U V^T ---- */

/* Makes column j, which is zero, a unit vector orthogonal to the others: what they leave of that unit vector which they
 * reach least. */
static void complete(svd *m, int64_t j)
{
    int64_t best = 0;
    memset(m->spare, 0, (size_t)m->ldw * sizeof *m->spare);
    for (int64_t k = 0; k < m->columns; k++)
        for (int64_t i = 0; i < m->rows; i++)
            m->spare[i] += m->w[k * m->ldw + i] * m->w[k * m->ldw + i];
    for (int64_t i = 1; i < m->rows; i++)
        best = m->spare[i] < m->spare[best] ? i : best;
    memset(m->spare, 0, (size_t)m->ldw * sizeof *m->spare);
    m->spare[best] = 1;
    for (int64_t k = 0; k < 2 * m->columns; k++) { /* twice: the second time takes what rounding left */
        const double *u = m->w + k % m->columns * m->ldw;
        double d[3];
        products(u, m->spare, m->ldw, d);
        for (int64_t i = 0; i < m->ldw; i++)
            m->spare[i] -= d[2] * u[i];
    }
    const double length = sqrt(squared_length(m->spare, m->ldw));
    for (int64_t i = 0; i < m->ldw; i++)
        m->w[j * m->ldw + i] = m->spare[i] / length;
}

static void make_unit(svd *m)
{
    for (int64_t j = 0; j < m->columns; j++) {
        double *u = m->w + j * m->ldw;
        const double square = squared_length(u, m->ldw), factor = square > nothing ? 1 / sqrt(square) : 0;
        for (int64_t i = 0; i < m->ldw; i++)
            u[i] *= factor;
    }
    for (int64_t j = 0; j < m->columns; j++)
        if (squared_length(m->w + j * m->ldw, m->ldw) == 0)
            complete(m, j);
}

static void store_polar(const svd_job *job, svd *m, char *out)
{
    const tn_dtype d = job->l->out[0].dtype;
    const int64_t size = (int64_t)tn__dtype_size(d);
    for (int64_t j = 0; j < m->columns; j++) {
        memset(m->spare, 0, (size_t)m->ldw * sizeof *m->spare);
        for (int64_t k = 0; k < m->columns; k++) {
            const double *u = m->w + k * m->ldw, factor = m->v[k * m->ldv + j];
            for (int64_t i = 0; i < m->ldw; i++)
                m->spare[i] += factor * u[i];
        }
        for (int64_t i = 0; i < m->rows; i++)
            tn__store_double(d, out + (i * job->out_row + j * job->out_col) * size,
                             m->infinite ? (double)NAN : m->spare[i]);
    }
}

/* ---- one matrix ---- */

/* Elements divided by the power of two that makes the largest about 1. */
static int load(const svd_job *job, svd *m, const char *x)
{
    const tn__view *in = &job->l->in[0];
    const int64_t size = (int64_t)tn__dtype_size(in->dtype);
    double largest = 0;
    memset(m->w, 0, (size_t)(m->columns * m->ldw) * sizeof *m->w);
    for (int64_t j = 0; j < m->columns; j++)
        for (int64_t i = 0; i < m->rows; i++) {
            const double v = tn__load_double(in->dtype, x + (i * job->row_step + j * job->col_step) * size);
            m->w[j * m->ldw + i] = v;
            if (isnan(v))
                return NOT_A_NUMBER;
            largest = fmax(largest, fabs(v));
        }
    m->infinite = isinf(largest);
    m->exponent = 0;
    if (largest > 0 && !m->infinite)
        frexp(largest, &m->exponent);
    for (int64_t i = 0; i < m->columns * m->ldw; i++)
        m->w[i] = m->infinite ? 0 : ldexp(m->w[i], -m->exponent);
    for (int64_t j = 0; m->v && j < m->columns; j++) {
        memset(m->v + j * m->ldv, 0, (size_t)m->ldv * sizeof *m->v);
        m->v[j * m->ldv + j] = 1;
    }
    return GOOD;
}

static int one_matrix(const svd_job *job, svd *m, int64_t index)
{
    const tn__view *in = &job->l->in[0], *out = &job->l->out[0];
    int64_t from = 0, to = 0;
    for (int32_t d = in->ndim - 3; d >= 0; d--) {
        const int64_t at = index % in->shape[d];
        from += at * in->stride[d];
        to += at * out->stride[d];
        index /= in->shape[d];
    }
    char *result = (char *)out->data + to * (int64_t)tn__dtype_size(out->dtype);
    const int failed = load(job, m, (const char *)in->data + from * (int64_t)tn__dtype_size(in->dtype));
    if (failed)
        return failed;
    if (!make_orthogonal(m))
        return NO_CONVERGENCE;
    if (job->polar) {
        make_unit(m);
        store_polar(job, m, result);
        return GOOD;
    }
    double sum = 0;
    for (int64_t j = 0; j < m->columns; j++)
        sum += sqrt(squared_length(m->w + j * m->ldw, m->ldw));
    tn__store_double(out->dtype, result, m->infinite ? (double)NAN : ldexp(sum, m->exponent));
    return GOOD;
}

static void note_failure(svd_job *job, int64_t index, int what)
{
    const uint64_t mine = (uint64_t)index << 2 | (uint64_t)what;
    uint64_t was = job->failure;
    while (mine < was && !atomic_compare_exchange_weak(&job->failure, &was, mine))
        ;
}

static void some_matrices(void *ctx, int64_t begin, int64_t end)
{
    svd_job *job = ctx;
    svd m = {.rows = job->rows, .columns = job->columns, .ldw = padded(job->rows), .ldv = padded(job->columns)};
    const size_t w = (size_t)(m.ldw * m.columns), v = job->polar ? (size_t)(m.ldv * m.columns) : 0;
    const size_t bytes = (w + v + (size_t)m.ldw) * sizeof(double);
    double *block = tn__block_get(bytes);
    if (!block) {
        note_failure(job, 0, NO_MEMORY);
        return;
    }
    m.w = block;
    m.v = v ? block + w : NULL;
    m.spare = block + w + v;
    m.orthogonal = sqrt((double)m.rows) * DBL_EPSILON;
    for (int64_t i = begin; i < end; i++) {
        const int what = one_matrix(job, &m, i);
        if (what)
            note_failure(job, i, what);
    }
    tn__block_put(block, bytes);
}

/* PyTorch's texts. */
static tn_status report(const svd_job *job)
{
    static const char *const why[] = {
        [NOT_A_NUMBER] = "contained non-finite values.",
        [NO_CONVERGENCE] = "is ill-conditioned or has too many repeated singular values.",
    };
    const uint64_t what = job->failure & 3, index = job->failure >> 2;
    char element[48] = "";
    if (job->failure == UINT64_MAX)
        return TN_OK;
    if (what == NO_MEMORY)
        return tn__error_memory("singular values' work space",
                                (size_t)(padded(job->rows) * (job->columns + 1)) * sizeof(double));
    if (job->l->in[0].ndim > 2)
        snprintf(element, sizeof element, "(Batch element %llu): ", (unsigned long long)index);
    return tn__error(TN_EINVAL, "linalg.svd: %sThe algorithm failed to converge because the input matrix %s", element,
                     why[what]);
}

/* The sums of the singular values of matrices, the last two dimensions of x; or, where the result has x's shape, their
 * polar factors. */
tn_status tn__cpu_svd(const tn__launch *l)
{
    const tn__view *x = &l->in[0], *out = &l->out[0];
    const int32_t r = x->ndim - 2, c = x->ndim - 1;
    const bool wide = x->shape[r] < x->shape[c], polar = out->ndim == x->ndim;
    svd_job job = {.l = l, .count = 1, .polar = polar, .failure = UINT64_MAX};
    job.rows = x->shape[wide ? c : r];
    job.columns = x->shape[wide ? r : c];
    job.row_step = x->stride[wide ? c : r];
    job.col_step = x->stride[wide ? r : c];
    job.out_row = polar ? out->stride[wide ? c : r] : 0;
    job.out_col = polar ? out->stride[wide ? r : c] : 0;
    for (int32_t d = 0; d < r; d++)
        job.count *= x->shape[d];
    if (out->numel == 0)
        return TN_OK;
    if (job.count == 1) /* its pairs are shared out instead */
        some_matrices(&job, 0, 1);
    else
        tn__parallel_for(job.count, tn__div_up(WORK, job.rows * job.columns * job.columns + 1), some_matrices, &job);
    return report(&job);
}
