/* Activations: each against a formula, element by element. */
#include "ops/family.h"
#include <string.h>

/* ---- formulas ---- */

FORMULA(threshold, tn_threshold(x, 0.5, tn_scalar_i(-3)), x > 0.5L ? x : -3)
FORMULA(hardsigmoid, tn_hardsigmoid(x), x<-3 ? 0 : x> 3 ? 1 : x / 6 + 0.5L)
FORMULA(hardswish, tn_hardswish(x), x *(x<-3 ? 0 : x> 3 ? 1 : x / 6 + 0.5L))
FORMULA(prelu, tn_prelu(x, tn_full_like(tn_zeros(TN_SHAPE(1), .dtype = tn_tensor_dtype(x)), 0.25)), x > 0 ? x : x / 4)
FORMULA(celu, tn_celu(x, .alpha = TN_SCALAR(2)), x > 0 ? x : 2 * expm1l(x / 2))
FORMULA(selu, tn_selu(x), 1.0507009873554804934L * (x > 0 ? x : 1.6732632423543772848L * expm1l(x)))
FORMULA(mish, tn_mish(x), x *tanhl(log1pl(expl(x))))
FORMULA(logsigmoid, tn_logsigmoid(x), -log1pl(expl(-x)))
FORMULA(softsign, tn_softsign(x), x / (1 + fabsl(x)))
FORMULA(tanhshrink, tn_tanhshrink(x), x - tanhl(x))
FORMULA(hardshrink, tn_hardshrink(x, .lambd = TN_SCALAR(2)), fabsl(x) <= 2 ? 0 : x)
FORMULA(softshrink, tn_softshrink(x, .lambd = TN_SCALAR(1)), x > 1 ? x - 1 : x < -1 ? x + 1 : 0)
FORMULA(glu, tn_squeeze(tn_glu(tn_stack(TN_TENSORS(x, y), 0), 0), .dim = 0), x / (1 + expl(-y)))
FORMULA(gelu, tn_gelu(x), x *erfcl(-x / sqrtl(2)) / 2)
FORMULA(gelu_tanh, tn_gelu(x, .tanh = true), x / 2 * (1 + tanhl(sqrtl(2 / acosl(-1)) * (x + 0.044715L * x * x * x))))
FORMULA(silu, tn_silu(x), x / (1 + expl(-x)))
FORMULA(softplus, tn_softplus(x), log1pl(expl(x)))
FORMULA(softplus_linear, tn_softplus(x, .beta = TN_SCALAR(2.0), .threshold = TN_SCALAR(3)),
        2 * x > 3 ? x : log1pl(expl(2 * x)) / 2)
FORMULA(leaky_relu, tn_leaky_relu(x, .negative_slope = TN_SCALAR(0.25)), x > 0 ? x : x / 4)
FORMULA(elu, tn_elu(x, .alpha = TN_SCALAR(1.5)), x > 0 ? x : 1.5L * expm1l(x))
FORMULA(hardtanh, tn_hardtanh(x), x<-1 ? -1 : x> 1 ? 1 : x)

static const formula formulas[] = {
    FORMULA_ROW(threshold, 16, false),  FORMULA_ROW(hardsigmoid, 16, false), FORMULA_ROW(hardswish, 16, false),
    FORMULA_ROW(prelu, 16, false),      FORMULA_ROW(celu, 16, false),        FORMULA_ROW(selu, 16, false),
    FORMULA_ROW(mish, 16, false),       FORMULA_ROW(logsigmoid, 16, false),  FORMULA_ROW(softsign, 16, false),
    FORMULA_ROW(tanhshrink, 16, false), FORMULA_ROW(hardshrink, 16, false),  FORMULA_ROW(softshrink, 16, false),
    FORMULA_ROW(glu, 16, false),        FORMULA_ROW(gelu, 8, false),         FORMULA_ROW(gelu_tanh, 8, false),
    FORMULA_ROW(silu, 8, false),        FORMULA_ROW(softplus, 8, false),     FORMULA_ROW(softplus_linear, 8, false),
    FORMULA_ROW(leaky_relu, 8, false),  FORMULA_ROW(elu, 8, false),          FORMULA_ROW(hardtanh, 8, false),
};

static void run_formulas(void)
{
    formulas_hold(formulas, TN_COUNT(formulas));
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(3)), *i = tn_arange(0, 3, 1), *two = tn_ones(TN_SHAPE(2));
    REFUSED(tn_mish(i), TN_EDTYPE,
            kit_on_cpu() ? "\"mish_cpu\" not implemented for 'Long'" : "\"mish_cuda\" not implemented for 'Long'");
    REFUSED(tn_softsign(NULL), TN_EINVAL, "");
    REFUSED(tn_prelu(TN_NONE, x), TN_ETYPE, "TN_NONE");
    REFUSED(tn_prelu(tn_ones(TN_SHAPE(2, 3)), two), TN_EINVAL,
            "Mismatch of parameter numbers and input channel size. Found parameter numbers = 2 and channel size = 3.");
    REFUSED(tn_celu(x, .alpha = TN_SCALAR(0)), TN_EINVAL, "alpha cannot be 0 for CELU");
    REFUSED(tn_glu(x, 0), TN_EINVAL, "Halving dimension must be even, but dimension 0 is size 3");
    REFUSED(tn_softshrink(x, .lambd = TN_SCALAR(-1)), TN_EINVAL, "lambda must be in range [0, 3.40282e+38]");
    REFUSED(tn_hardtanh(x, .min_val = TN_SCALAR(2)), TN_EVALUE, "min_val cannot be greater than max_val");
    REFUSED(tn_gelu(i), TN_EDTYPE, "\"GeluKernelImpl\" not implemented for 'Long'");
    REFUSED(tn_elu(i), TN_EDTYPE, "not implemented for 'Long'");
    REFUSED(tn_silu(TN_NONE), TN_ETYPE, "TN_NONE");
    TRUTH(tn_equal(tn_hardtanh(tn_sub(tn_mul(i, 2), 2)), tn_sub(i, 1)));
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"threshold", run_formulas},  {"hardsigmoid", run_formulas},
    {"hardswish", run_formulas},  {"prelu", run_formulas},
    {"celu", run_formulas},       {"selu", run_formulas},
    {"mish", run_formulas},       {"logsigmoid", run_formulas},
    {"softsign", run_formulas},   {"tanhshrink", run_formulas},
    {"hardshrink", run_formulas}, {"softshrink", run_formulas},
    {"glu", run_formulas},        {"gelu", run_formulas},
    {"silu", run_formulas},       {"softplus", run_formulas},
    {"leaky_relu", run_formulas}, {"elu", run_formulas},
    {"hardtanh", run_formulas},   {NULL, NULL},
};

/* ---- gradients ---- */

F(silu, tn_silu(x))
F(softplus, tn_softplus(x, .beta = tn_scalar_f(1.5), .threshold = tn_scalar_f(2)))
F(leaky_relu, tn_leaky_relu(x, .negative_slope = tn_scalar_f(0.2)))
F(elu, tn_elu(x, .alpha = tn_scalar_f(1.5)))
F(glu, tn_glu(x, 0))

static const gradient_case gradients[] = {
    ONE(silu),
    ONE(softplus),
    ONE(leaky_relu),
    ONE(elu),
    {"glu", f_glu, 1, {{2, {4, 3}}}, false},
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

ADAPTER(threshold, tn_threshold(x, AT(0, "threshold"), AT(1, "value")))
ADAPTER(relu6, tn_hardtanh(x, .min_val = TN_SCALAR(0), .max_val = TN_SCALAR(6)))
ADAPTER(hardsigmoid, tn_hardsigmoid(x))
ADAPTER(hardswish, tn_hardswish(x))
ADAPTER(prelu, tn_prelu(x, TENSOR(0, "weight")))
ADAPTER(celu, tn_celu(x, .alpha = SCALAR("alpha")))
ADAPTER(selu, tn_selu(x))
ADAPTER(mish, tn_mish(x))
ADAPTER(logsigmoid, tn_logsigmoid(x))
ADAPTER(softsign, tn_softsign(x))
ADAPTER(tanhshrink, tn_tanhshrink(x))
ADAPTER(hardshrink, tn_hardshrink(x, .lambd = AT(0, "lambd")))
ADAPTER(softshrink, tn_softshrink(x, .lambd = AT(0, "lambd")))
ADAPTER(glu, tn_glu(x, DIM(0, "dim", -1)))

ADAPTER(silu, tn_silu(x))
ADAPTER(softplus, tn_softplus(x, .beta = SCALAR("beta"), .threshold = SCALAR("threshold")))
ADAPTER(leaky_relu, tn_leaky_relu(x, .negative_slope = SCALAR("negative_slope")))
ADAPTER(elu, tn_elu(x, .alpha = SCALAR("alpha")))
ADAPTER(hardtanh, tn_hardtanh(x, .min_val = SCALAR("min_val"), .max_val = SCALAR("max_val")))

static bool record_gelu(record *r, results *out)
{
    value how = record_arg(r, -1, "approximate");
    return give(out, tn_gelu(r->input.t, .tanh = how.kind == V_TEXT && !strcmp(how.text, "tanh")));
}

static const named_adapter adapters[] = {
    {"nn.functional.threshold", record_threshold},
    {"nn.functional.relu6", record_relu6},
    {"nn.functional.hardsigmoid", record_hardsigmoid},
    {"nn.functional.hardswish", record_hardswish},
    {"nn.functional.prelu", record_prelu},
    {"nn.functional.celu", record_celu},
    {"nn.functional.selu", record_selu},
    {"nn.functional.mish", record_mish},
    {"nn.functional.logsigmoid", record_logsigmoid},
    {"nn.functional.softsign", record_softsign},
    {"nn.functional.tanhshrink", record_tanhshrink},
    {"nn.functional.hardshrink", record_hardshrink},
    {"nn.functional.softshrink", record_softshrink},
    {"nn.functional.glu", record_glu},
    {"nn.functional.gelu", record_gelu},
    {"nn.functional.silu", record_silu},
    {"nn.functional.softplus", record_softplus},
    {"nn.functional.leaky_relu", record_leaky_relu},
    {"nn.functional.elu", record_elu},
    {"nn.functional.hardtanh", record_hardtanh},
    {NULL, NULL},
};

const family_tests activation_tests = {cases, gradients, adapters};
