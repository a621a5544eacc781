/* Losses by margins and likelihoods: formulas by hand, what is refused, gradients, PyTorch's records. */
#include "ops/family.h"
#include <string.h>

/* ---- formulas ---- */

#define NONE .reduction = TN_NO_REDUCTION

FORMULA(margin_ranking_loss, tn_margin_ranking_loss(x, y, tn_full_like(x, -1), NONE, .margin = 0.5),
        x - y + 0.5L > 0 ? x - y + 0.5L : 0)
FORMULA(hinge_embedding_loss, tn_hinge_embedding_loss(x, tn_full_like(x, -1), NONE, .margin = TN_SCALAR(2)),
        2 - x > 0 ? 2 - x : 0)
FORMULA(soft_margin_loss, tn_soft_margin_loss(x, tn_full_like(x, -1), NONE), log1pl(expl(x)))
FORMULA(gaussian_nll_loss, tn_gaussian_nll_loss(x, y, 4, NONE), (logl(4) + (x - y) * (x - y) / 4) / 2)
FORMULA(poisson_nll_loss, tn_poisson_nll_loss(x, y, true, NONE), expl(x) - y * x)
FORMULA(poisson_nll_loss_plain, tn_poisson_nll_loss(tn_exp(x), y, false, NONE), expl(x) - y * logl(expl(x) + 1e-8L))

static const formula formulas[] = {
    FORMULA_ROW(margin_ranking_loss, 16, false), FORMULA_ROW(hinge_embedding_loss, 16, false),
    FORMULA_ROW(soft_margin_loss, 16, false),    FORMULA_ROW(gaussian_nll_loss, 16, false),
    FORMULA_ROW(poisson_nll_loss, 16, false),    FORMULA_ROW(poisson_nll_loss_plain, 64, false),
};

static bool near(const tn_tensor *t, real v)
{
    return t && fabsl(kit_item(t, 0) - v) <= 1e-5L * (fabsl(v) + 1);
}

static tn_tensor *numbers(int64_t rows, tn_tensor *flat)
{
    return tn_reshape(flat, TN_SHAPE(rows, -1));
}

static void run_formulas(void)
{
    formulas_hold(formulas, TN_COUNT(formulas));
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(3)), *two = tn_ones(TN_SHAPE(2, 3)), *signs = tn_tensor_from(TN_LIST(1, 0, -1));
    TRUTH(near(tn_hinge_embedding_loss(tn_full(TN_SHAPE(3), 0.25), signs), (0.25L + 1 + 0.75L) / 3)); /* 0: both */
    TRUTH(tn_tensor_dtype(tn_hinge_embedding_loss(tn_full(TN_SHAPE(3), 4), signs, .margin = TN_SCALAR(5.5),
                                                  .reduction = TN_SUM)) == TN_I64);
    TRUTH(near(tn_hinge_embedding_loss(tn_full(TN_SHAPE(3), 4), signs, .margin = TN_SCALAR(5.5), .reduction = TN_SUM),
               4 + 5 + 1));
    TRUTH(near(tn_soft_margin_loss(tn_full(TN_SHAPE(3), -500.0), x), 500)); /* exp(500) would be infinite */
    TRUTH(near(tn_gaussian_nll_loss(x, x, 0.0, .full = true), (logl(1e-6L) + logl(2 * acosl(-1))) / 2));
    TRUTH(near(tn_gaussian_nll_loss(two, two, tn_full(TN_SHAPE(2), 4.0)), logl(4) / 2)); /* one for each row */
    TRUTH(near(tn_poisson_nll_loss(tn_zeros(TN_SHAPE(1)), tn_full(TN_SHAPE(1), 5.0), true, .full = true),
               1 + 5 * logl(5) - 5 + logl(10 * acosl(-1)) / 2));
    REFUSED(tn_gaussian_nll_loss(x, x, -1.0), TN_EVALUE, "var has negative entry/entries");
    REFUSED(tn_gaussian_nll_loss(x, x, tn_neg(x)), TN_EVALUE, "var has negative entry/entries");
    REFUSED(tn_gaussian_nll_loss(two, two, x), TN_EVALUE, "var is of incorrect size");
    REFUSED(tn_soft_margin_loss(tn_arange(0, 3, 1), x), TN_EDTYPE,
            "result type Float can't be cast to the desired output type Long");
    tn_tensor *bytes = tn_full(TN_SHAPE(2), tn_scalar_i(1), .dtype = TN_U8),
              *half = tn_full(TN_SHAPE(2), tn_scalar_f(0.5));
    TRUTH(kit_item(tn_margin_ranking_loss(bytes, half, bytes), 0) == 127.5); /* as PyTorch: -1 of a byte is 255 */
    REFUSED(tn_margin_ranking_loss(x, x, TN_NONE), TN_ETYPE, "TN_NONE");
    tn_scope_close(s);
}

/* ---- angles and distances ---- */

static void run_pairs(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *a = numbers(2, tn_tensor_from(TN_LIST(3.0, 4.0, 1.0, 0.0)));
    tn_tensor *b = numbers(2, tn_tensor_from(TN_LIST(4.0, 3.0, 1.0, 1.0))), *signs = tn_tensor_from(TN_LIST(1, -1));
    tn_tensor *each = tn_cosine_embedding_loss(a, b, signs, .margin = 0.5, .reduction = TN_NO_REDUCTION);
    TRUTH(near(each, 1 - 24 / 25.0L) && fabsl(kit_item(each, 1) - (1 / sqrtl(2) - 0.5L)) < 1e-5L);
    TRUTH(near(tn_cosine_embedding_loss(tn_select(a, 0, 0), tn_select(b, 0, 0), tn_select(signs, 0, 0)), 0.04L));
    REFUSED(tn_cosine_embedding_loss(a, b, b), TN_EINVAL,
            "0D or 1D target tensor expected, multi-target not supported");
    REFUSED(tn_cosine_embedding_loss(a, tn_select(b, 0, 0), signs), TN_EINVAL,
            "1D target tensor expects 2D input tensors, but found inputs with sizes [2, 2] and [2].");
    /* distances of 5 from the origin, and of 1 and sqrt(2) */
    tn_tensor *origin = tn_zeros_like(a);
    each = tn_triplet_margin_loss(origin, a, b, .eps = TN_SCALAR(0.0), .reduction = TN_NO_REDUCTION);
    TRUTH(near(each, 1) && fabsl(kit_item(each, 1) - (2 - sqrtl(2))) < 1e-5L);
    each = tn_triplet_margin_loss(origin, a, b, .swap = true, .p = TN_SCALAR(1), .eps = TN_SCALAR(0.0),
                                  .margin = TN_SCALAR(0.5), .reduction = TN_NO_REDUCTION);
    TRUTH(near(each, 5.5L) && fabsl(kit_item(each, 1) - 0.5L) < 1e-5L); /* 7 + 1/2 - 2, 1 + 1/2 - 1 */
    REFUSED(tn_triplet_margin_loss(a, b, signs), TN_EINVAL, "but got: anchor 2D, positive 2D, and negative 1D inputs");
    tn_scope_close(s);
}

/* ---- classes ---- */

static void run_classes(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = numbers(2, tn_tensor_from(TN_LIST(0.1, 0.2, 0.4, 0.8, -1.0, 3.0, 0.5, 0.25)));
    tn_tensor *y = tn_tensor_from(TN_LIST(3, 1)), *w = tn_tensor_from(TN_LIST(1.0, 2.0, 3.0, 4.0), .dtype = TN_F32);
    tn_tensor *each = tn_multi_margin_loss(x, y, .reduction = TN_NO_REDUCTION);
    TRUTH(near(each, (0.3L + 0.4L + 0.6L) / 4) && kit_item(each, 1) == 0);
    each = tn_multi_margin_loss(x, y, .p = TN_SCALAR(2), .weight = w, .margin = TN_SCALAR(2),
                                .reduction = TN_NO_REDUCTION);
    TRUTH(near(each, 1.3L * 1.3L + 1.4L * 1.4L + 1.6L * 1.6L) && kit_item(each, 1) == 0);
    TRUTH(near(tn_multi_margin_loss(x, y), 1.3L / 8) &&
          near(tn_multi_margin_loss(x, y, .reduction = TN_SUM), 1.3L / 4));
    REFUSED(tn_multi_margin_loss(x, tn_tensor_from(TN_LIST(0, 4))), TN_EINVAL, "target out of range");
    REFUSED(tn_multi_margin_loss(x, tn_tensor_from(TN_LIST(0, -1))), TN_EINVAL, "target out of range");
    REFUSED(tn_multi_margin_loss(x, y, .p = TN_SCALAR(3)), TN_EINVAL, "only p == 1 and p == 2 supported");
    REFUSED(tn_multi_margin_loss(x, y, .weight = tn_ones(TN_SHAPE(2))), TN_EINVAL,
            "inconsistent weight size, expected 4 but got [2]");
    /* PyTorch's own example: 0.85, which targets after the first -1 do not change */
    x = numbers(1, tn_tensor_from(TN_LIST(0.1, 0.2, 0.4, 0.8)));
    y = numbers(1, tn_tensor_from(TN_LIST(3, 0, -1, 1)));
    TRUTH(near(tn_multilabel_margin_loss(x, y), (0.4L + 0.6L + 1.1L + 1.3L) / 4));
    tn_tensor *none = tn_full_like(y, -1);
    TRUTH(kit_item(tn_multilabel_margin_loss(x, none), 0) == 0);
    TRUTH(kit_item(tn_multilabel_margin_loss(tn_mul(x, NAN), y), 0) == 0); /* as PyTorch */
    REFUSED(tn_multilabel_margin_loss(x, tn_full_like(y, 4)), TN_EINVAL, "argument #2 'target' is out of range");
    REFUSED(tn_multilabel_margin_loss(x, tn_ones_like(x)), TN_EDTYPE, "expected scalar type Long but found Float");
    REFUSED(tn_multilabel_margin_loss(x, tn_tensor_from(TN_LIST(0, 1))), TN_EINVAL, "inconsistent target size: [2]");
    tn_tensor *half = tn_multilabel_soft_margin_loss(tn_zeros(TN_SHAPE(2, 3)), tn_ones(TN_SHAPE(2, 3)));
    TRUTH(near(half, logl(2)));
    half = tn_multilabel_soft_margin_loss(tn_ones(TN_SHAPE(2, 3)), tn_full(TN_SHAPE(2, 3), 0.5, .dtype = TN_F64),
                                          .weight = tn_full(TN_SHAPE(3), 2.0), .reduction = TN_SUM);
    TRUTH(near(half, 2 * (log1pl(expl(-1)) + log1pl(expl(1)))));
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"margin_ranking_loss", run_formulas},
    {"hinge_embedding_loss", run_formulas},
    {"soft_margin_loss", run_formulas},
    {"gaussian_nll_loss", run_formulas},
    {"poisson_nll_loss", run_formulas},
    {"cosine_embedding_loss", run_pairs},
    {"triplet_margin_loss", run_pairs},
    {"multi_margin_loss", run_classes},
    {"multilabel_margin_loss", run_classes},
    {"multilabel_soft_margin_loss", run_classes},
    {NULL, NULL},
};

/* ---- gradients ---- */

F(margin_ranking_loss, tn_margin_ranking_loss(x, y, tn_full_like(x, -1), .margin = 0.5))
F(hinge_embedding_loss, tn_hinge_embedding_loss(x, tn_full_like(x, -1)))
F(soft_margin_loss, tn_soft_margin_loss(x, tn_full_like(x, -1)))
F(gaussian_nll_loss, tn_gaussian_nll_loss(x, y, tn_full_like(x, 3)))
F(poisson_nll_loss, tn_poisson_nll_loss(x, y, true))
F(cosine_embedding_loss, tn_cosine_embedding_loss(x, y, tn_tensor_from(TN_LIST(1, 1, -1))))
F(triplet_margin_loss, tn_triplet_margin_loss(x, y, tn_mul(x, -2), .margin = TN_SCALAR(3)))
F(multi_margin_loss, tn_multi_margin_loss(x, tn_tensor_from(TN_LIST(1, 3, 0)), .p = TN_SCALAR(2)))
F(multilabel_margin_loss,
  tn_multilabel_margin_loss(x,
                            tn_reshape(tn_tensor_from(TN_LIST(1, 3, -1, 2, -1, 0, 1, 2, 2, 0, 1, -1)), TN_SHAPE(3, 4))))
F(multilabel_soft_margin_loss, tn_multilabel_soft_margin_loss(x, tn_full_like(x, 0.25)))

static const gradient_case gradients[] = {
    TWO(margin_ranking_loss),
    ONE(hinge_embedding_loss),
    ONE(soft_margin_loss),
    TWO(gaussian_nll_loss),
    TWO(poisson_nll_loss),
    TWO(cosine_embedding_loss),
    TWO(triplet_margin_loss),
    ONE(multi_margin_loss),
    ONE(multilabel_margin_loss),
    ONE(multilabel_soft_margin_loss),
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

#define NUMBER(name, otherwise) (SCALAR(name).kind ? SCALAR(name) : tn_scalar_f(otherwise))

static double float_of(value v)
{
    return v.kind == V_INT ? (double)v.i : v.kind == V_FLOAT ? v.f : 0;
}

ADAPTER(margin_ranking_loss,
        tn_margin_ranking_loss(x, TENSOR(0, "input2"), TENSOR(1, "target"),
                               .margin = float_of(record_arg(r, -1, "margin")), .reduction = reduction_of(r)))
ADAPTER(hinge_embedding_loss,
        tn_hinge_embedding_loss(x, TENSOR(0, "target"), .margin = NUMBER("margin", 1), .reduction = reduction_of(r)))
ADAPTER(cosine_embedding_loss,
        tn_cosine_embedding_loss(x, TENSOR(0, "input2"), TENSOR(1, "target"),
                                 .margin = float_of(record_arg(r, -1, "margin")), .reduction = reduction_of(r)))
ADAPTER(triplet_margin_loss,
        tn_triplet_margin_loss(x, TENSOR(0, "positive"), TENSOR(1, "negative"), .margin = SCALAR("margin"),
                               .p = SCALAR("p"), .eps = SCALAR("eps"), .swap = flag_of(record_arg(r, -1, "swap")),
                               .reduction = reduction_of(r)))
ADAPTER(multi_margin_loss, tn_multi_margin_loss(x, TENSOR(0, "target"), .p = SCALAR("p"), .margin = SCALAR("margin"),
                                                .weight = TENSOR(-1, "weight"), .reduction = reduction_of(r)))
ADAPTER(multilabel_margin_loss, tn_multilabel_margin_loss(x, TENSOR(0, "target"), .reduction = reduction_of(r)))
ADAPTER(multilabel_soft_margin_loss,
        tn_multilabel_soft_margin_loss(x, TENSOR(0, "target"), .weight = TENSOR(-1, "weight"),
                                       .reduction = reduction_of(r)))
ADAPTER(soft_margin_loss, tn_soft_margin_loss(x, TENSOR(0, "target"), .reduction = reduction_of(r)))

static bool record_gaussian_nll_loss(record *r, results *out)
{
    value var = record_arg(r, 1, "var");
    return give(out, tn_gaussian_nll_loss(r->input.t, record_arg(r, 0, "target").t, scalar_of(var),
                                          .full = flag_of(record_arg(r, -1, "full")),
                                          .eps = scalar_of(record_arg(r, -1, "eps")), .reduction = reduction_of(r)));
}

static bool record_poisson_nll_loss(record *r, results *out)
{
    value log_input = record_arg(r, -1, "log_input");
    return give(out, tn_poisson_nll_loss(r->input.t, record_arg(r, 0, "target").t,
                                         log_input.kind == V_ABSENT || flag_of(log_input),
                                         .full = flag_of(record_arg(r, -1, "full")),
                                         .eps = scalar_of(record_arg(r, -1, "eps")), .reduction = reduction_of(r)));
}

static const named_adapter adapters[] = {
    {"nn.functional.margin_ranking_loss", record_margin_ranking_loss},
    {"nn.functional.hinge_embedding_loss", record_hinge_embedding_loss},
    {"nn.functional.cosine_embedding_loss", record_cosine_embedding_loss},
    {"nn.functional.triplet_margin_loss", record_triplet_margin_loss},
    {"nn.functional.multi_margin_loss", record_multi_margin_loss},
    {"nn.functional.multilabel_margin_loss", record_multilabel_margin_loss},
    {"nn.functional.multilabel_soft_margin_loss", record_multilabel_soft_margin_loss},
    {"nn.functional.soft_margin_loss", record_soft_margin_loss},
    {"nn.functional.gaussian_nll_loss", record_gaussian_nll_loss},
    {"nn.functional.poisson_nll_loss", record_poisson_nll_loss},
    {NULL, NULL},
};

const family_tests loss_margins_tests = {cases, gradients, adapters};
