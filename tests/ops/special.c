/* Special functions: against values made with mpmath at 25 digits; records and rows' own references say the rest. */
#include "ops/family.h"
#include <math.h>

/* Four values in float64, and in float32 as far as that goes. */
static void near(tn_tensor *got, tn_tensor *narrow, const double *want, const char *what)
{
    MADE(got);
    MADE(narrow);
    for (int i = 0; i < 4; i++) {
        const double a = (double)kit_item(got, i), b = (double)kit_item(narrow, i), size = fmax(fabs(want[i]), 1e-3);
        if (!(fabs(a - want[i]) <= 4e-15 * size) || !(fabs(b - want[i]) <= 8e-7 * size))
            kit_fail("%s: element %d is %.17g and %.9g, not %.17g", what, i, a, b, want[i]);
    }
}

static tn_tensor *wide, *narrow, *second, *narrow_second; /* operands, a and b of NEAR */
#define NEAR(expression, ...) \
    do { \
        tn_tensor *a = wide, *b = second, *got_ = (expression); \
        a = narrow, b = narrow_second; \
        near(got_, (expression), (const double[]){__VA_ARGS__}, #expression); \
        (void)b; \
    } while (0)

static void operands(double a, double b, double c, double d)
{
    wide = four_values(a, b, c, d);
    narrow = tn_to(wide, .dtype = TN_F32);
    wide = tn_to(narrow, .dtype = TN_F64); /* the same numbers */
}

static void seconds(double a, double b, double c, double d)
{
    narrow_second = tn_to(four_values(a, b, c, d), .dtype = TN_F32);
    second = tn_to(narrow_second, .dtype = TN_F64);
}

/* ---- values ---- */

static void run_gamma(void)
{
    tn_scope *s = tn_scope_open();
    operands(-1.75, -0.75, 0.5, 3); /* away from zeros: what cancels there has an absolute error */
    NEAR(tn_lgamma(a), 1.0160888092144357, 1.57570459714985838, 0.572364942924700087, 0.693147180559945309);
    NEAR(tn_digamma(a), -2.32269162861436065, -2.89412020004293207, -1.96351002602142348, 0.922784335098467139);
    operands(0.5, 3, -1.25, 12.5);
    NEAR(tn_polygamma(0, a), -1.96351002602142348, 0.922784335098467139, 3.71413912021352783, 2.48519565127491205);
    NEAR(tn_polygamma(1, a), 4.93480220054467931, 0.394934066848226436, 19.1818796476716065, 0.0832852246015783704);
    NEAR(tn_polygamma(2, a), -16.82879664423432, -0.154113806319188571, 123.72136678366236, -0.00693243658578824079);
    NEAR(tn_polygamma(3, a), 97.4090910340024372, 0.118939402266829149, 1558.2209125348506, 0.00115341280491340515);
    NEAR(tn_polygamma(4, a), -771.474249826667225, -0.136266123440878232, 24481.0637141845825,
         -0.000287691422585387054);
    operands(1.5, 2, 3.25, 10);
    NEAR(tn_mvlgamma(a, 3), 2.16867753406355513, 1.59631259113885504, 3.25298314169015934, 36.8128586323980886);
    operands(1.5, 3, 2.5, 10);
    seconds(0.25, 1.5, 3, 20);
    TRUTH(isinf(kit_item(tn_zeta((double)NAN, tn_zeros(TN_SHAPE(1))), 0))); /* a pole, as PyTorch has it */
    NEAR(tn_zeta(a, b), 10.2130553604666007, 0.414398322117159998, 0.164710561954280299, 2.69888883625402272e-13);
    operands(0.25, 1.5, 3, 20);
    seconds(0.5, 3, 1, 18.5);
    NEAR(tn_igamma(a, b), 0.846486404191677537, 0.88838977490528744, 0.080301397071394196, 0.393932093110155234);
    NEAR(tn_igammac(a, b), 0.153513595808322463, 0.11161022509471256, 0.919698602928605804, 0.606067906889844766);
    REFUSED(tn_polygamma(-1, wide), TN_EINVAL, "polygamma(n, x) does not support negative n.");
    REFUSED(tn_mvlgamma(wide, 0), TN_EINVAL, "p has to be greater than or equal to 1");
    REFUSED(tn_mvlgamma(tn_eq(wide, 1), 1), TN_EDTYPE, "The input tensor may not be a boolean tensor.");
    HOLDS(tn_lgamma(four_values(0, -1, -INFINITY, 1)), TN_SHAPE(4), INFINITY, INFINITY, INFINITY, 0);
    HOLDS(tn_lgamma(tn_to(four_values(0, -1, -INFINITY, 1), .dtype = TN_F32)), TN_SHAPE(4), INFINITY, INFINITY,
          INFINITY, 0);
    HOLDS(tn_digamma(four_values(0, -0.0, INFINITY, INFINITY)), TN_SHAPE(4), -INFINITY, INFINITY, INFINITY, INFINITY);
    tn_scope_close(s);
}

static void run_errors(void)
{
    tn_scope *s = tn_scope_open();
    operands(-2.5, -0.75, 0.5, 3);
    NEAR(tn_erfcx(a), 1035.81484297262291, 3.00317166362745231, 0.615690344192925875, 0.17900115118138995);
    NEAR(tn_ndtr(a), 0.00620966532577613517, 0.226627352376868199, 0.691462461274013104, 0.998650101968369905);
    NEAR(tn_log_ndtr(a), -5.0816482772786905, -1.48444822991965629, -0.368946415288656393, -0.0013508099647481938);
    operands(-0.875, -0.25, 0.5, 0.5);
    NEAR(tn_erf(tn_erfinv(a)), -0.875, -0.25, 0.5, 0.5);
    operands(0.0078125, 0.25, 0.5, 0.9375);
    NEAR(tn_ndtr(tn_ndtri(a)), 0.0078125, 0.25, 0.5, 0.9375);
    NEAR(tn_logit(a), -4.84418708645859, -1.0986122886681098, 0, 2.7080502011022101);
    NEAR(tn_logit(a, .eps = TN_SCALAR(0.25)), -1.0986122886681098, -1.0986122886681098, 0, 1.0986122886681098);
    operands(0.25, 1.5, 3, 20);
    NEAR(tn_entr(a), 0.346573590279972655, -0.608197662162246573, -3.29583686600432907, -59.9146454710798199);
    NEAR(tn_sinc(a), 0.90031631615710607, -0.212206590789193781, 0, 0);
    HOLDS(tn_erfinv(four_values(1, -1, 0, 0)), TN_SHAPE(4), INFINITY, -INFINITY, 0, 0);
    HOLDS(tn_ndtri(four_values(1, 0, 0.5, 0.5)), TN_SHAPE(4), INFINITY, -INFINITY, 0, 0);
    HOLDS(tn_entr(four_values(-1, 0, 0, 1)), TN_SHAPE(4), -INFINITY, 0, 0, 0);
    tn_scope_close(s);
}

static void run_bessel(void)
{
    tn_scope *s = tn_scope_open();
    operands(0.25, 1.5, 3, 20);
    NEAR(tn_i0(a), 1.01568614122360792, 1.64672318977289084, 4.88079258586502409, 43558282.5595535333);
    NEAR(tn_i0e(a), 0.791017162139719364, 0.367433609054158339, 0.243000354161825398, 0.0897803118848260216);
    NEAR(tn_i1(a), 0.125979108945467926, 0.981666428577907586, 3.9533702174026094, 42454973.3851277702);
    NEAR(tn_i1e(a), 0.0981126286973682467, 0.219039387420925672, 0.196826713297300854, 0.0875062221832886654);
    NEAR(tn_modified_bessel_k0(a), 1.54150675124830282, 0.213805562647525737, 0.0347395043862792481,
         5.74123781533652429e-10);
    NEAR(tn_modified_bessel_k1(a), 3.74702597444071164, 0.277387800456843816, 0.0401564311281941844,
         5.88305796955703818e-10);
    NEAR(tn_scaled_modified_bessel_k0(a), 1.97933384859856868, 0.958210053294896496, 0.697761598043851776,
         0.278544876657182224);
    NEAR(tn_scaled_modified_bessel_k1(a), 4.81127658817102533, 1.24316587355255299, 0.806563480128786903,
         0.285425496940726445);
    NEAR(tn_spherical_bessel_j0(a), 0.989615837018091718, 0.664996657736036287, 0.0470400026866224074,
         0.0456472625363813827);
    tn_scope_close(s);
}

static void run_parts(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = four_values(-2.5, 0, 6, INFINITY), *exponent = NULL, *i = tn_arange(0, 4, 1),
              *f = tn_ones(TN_SHAPE(4));
    HOLDS(tn_frexp(x, .exponent = &exponent), TN_SHAPE(4), -0.625, 0, 0.75, INFINITY);
    HOLDS(exponent, TN_SHAPE(4), 2, 0, 3, 0);
    TRUTH(tn_tensor_dtype(exponent) == TN_I32);
    REFUSED(tn_frexp(i), TN_EDTYPE, "torch.frexp() only supports floating-point dtypes");
    HOLDS(tn_ldexp(tn_ones_like(x), i), TN_SHAPE(4), 1, 2, 4, 8);
    HOLDS(tn_float_power(i, 2), TN_SHAPE(4), 0, 1, 4, 9);
    HOLDS(tn_float_power(2, i), TN_SHAPE(4), 1, 2, 4, 8);
    HOLDS(tn_float_power_(four_values(1, 2, 3, 4), 2), TN_SHAPE(4), 1, 4, 9, 16);
    REFUSED(tn_float_power_(f, 2), TN_EDTYPE,
            "the base given to float_power_ has dtype Float but the operation's result requires dtype Double");
    HOLDS(tn_heaviside(four_values(-1, 0, NAN, 3), four_values(7, 7, 7, 7)), TN_SHAPE(4), 0, 7, 0, 1);
    REFUSED(tn_heaviside(x, f), TN_EDTYPE, "heaviside is not yet implemented for tensors with different dtypes.");
    HOLDS(tn_nextafter(four_values(1, 1, 0, 5), four_values(2, 0, -1, 5)), TN_SHAPE(4), 1 + 0x1p-52, 1 - 0x1p-53,
          -0x1p-1074, 5);
    static const tn_dtype halves[] = {TN_F16, TN_BF16};
    for (int k = 0; k < 2; k++) {
        const int digits = k ? 7 : 10;
        tn_tensor *from = tn_to(four_values(1, 1, 0, -3), .dtype = halves[k]),
                  *to = tn_to(four_values(2, 0, INFINITY, 0), .dtype = halves[k]);
        HOLDS(tn_nextafter(from, to), TN_SHAPE(4), 1 + ldexp(1, -digits), 1 - ldexp(1, -digits - 1),
              k ? 0x1p-133 : 0x1p-24, -3 + ldexp(1, 1 - digits));
        tn_tensor *ends = tn_to(four_values(INFINITY, -INFINITY, 0, 4), .dtype = halves[k]);
        const double most = k ? 0x1.fep127 : 65504;
        HOLDS(tn_nextafter(ends, tn_zeros_like(ends)), TN_SHAPE(4), most, -most, 0, 4 - ldexp(1, 1 - digits));
    }
    HOLDS(tn_gcd(tn_arange(-12, -8, 1), tn_full(TN_SHAPE(4), 6)), TN_SHAPE(4), 6, 1, 2, 3);
    HOLDS(tn_lcm(tn_arange(0, 4, 1), tn_full(TN_SHAPE(4), 6)), TN_SHAPE(4), 0, 6, 6, 6);
    tn_scope_close(s);
}

static void run_real(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = counted(TN_SHAPE(2, 3), 6), *row = tn_ones(TN_SHAPE(3));
    TRUTH(tn_real(x) == x && tn_conj(x) == x && tn_conj_physical(x) == x && tn_resolve_conj(x) == x &&
          tn_resolve_neg(x) == x);
    HOLDS(tn_isreal(x), TN_SHAPE(2, 3), 1, 1, 1, 1, 1, 1);
    TRUTH(tn_tensor_dtype(tn_isreal(x)) == TN_BOOL);
    HOLDS(tn_adjoint(x), TN_SHAPE(3, 2), 1, 4, 2, 5, 3, 6);
    REFUSED(tn_adjoint(row), TN_EINVAL,
            "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.");
    tn_scope_close(s);
}

static void run_values(void)
{
    run_gamma();
    run_errors();
    run_bessel();
}

static const structural_case cases[] = {
    {"polygamma", run_values},
    {"mvlgamma", run_values},
    {"logit", run_values},
    {"frexp", run_parts},
    {"ldexp", run_parts},
    {"float_power", run_parts},
    {"float_power_", run_parts},
    {"heaviside", run_parts},
    {"nextafter", run_parts},
    {"real", run_real},
    {"conj", run_real},
    {"conj_physical", run_real},
    {"resolve_conj", run_real},
    {"resolve_neg", run_real},
    {"isreal", run_real},
    {"adjoint", run_real},
    {NULL, NULL},
};

/* ---- gradients ---- */

F(polygamma, tn_polygamma(2, tn_exp(x)))
F(logit, tn_logit(x, .eps = tn_scalar_f(0.01)))
F(frexp, tn_frexp(x))

static const gradient_case gradients[] = {
    ONE(polygamma),
    ONE(logit),
    ONE(frexp),
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

ADAPTER(polygamma, tn_polygamma(DIM(0, "n", 0), x))
ADAPTER(mvlgamma, tn_mvlgamma(x, DIM(0, "p", 1)))
ADAPTER(logit, tn_logit(x, .eps = AT(0, "eps")))
ADAPTER(heaviside, tn_heaviside(x, TENSOR(0, "values")))
ADAPTER(nextafter, tn_nextafter(x, TENSOR(0, "other")))
ADAPTER(ldexp, tn_ldexp(x, TENSOR(0, "other")))
ADAPTER(real, tn_real(x))
ADAPTER(conj, tn_conj(x))
ADAPTER(conj_physical, tn_conj_physical(x))
ADAPTER(resolve_conj, tn_resolve_conj(x))
ADAPTER(resolve_neg, tn_resolve_neg(x))
ADAPTER(isreal, tn_isreal(x))

static bool record_float_power(record *r, results *out)
{
    return give(out, tn_float_power(scalar_of(r->input), AT(0, "exponent")));
}

static bool record_frexp(record *r, results *out)
{
    out->t[0] = tn_frexp(r->input.t, .exponent = &out->t[1]);
    out->n = 2;
    return true;
}

static const named_adapter adapters[] = {
    {"polygamma.polygamma_n_0", record_polygamma},
    {"polygamma.polygamma_n_1", record_polygamma},
    {"polygamma.polygamma_n_2", record_polygamma},
    {"polygamma.polygamma_n_3", record_polygamma},
    {"polygamma.polygamma_n_4", record_polygamma},
    {"special.polygamma.special_polygamma_n_0", record_polygamma},
    {"mvlgamma.mvlgamma_p_1", record_mvlgamma},
    {"mvlgamma.mvlgamma_p_3", record_mvlgamma},
    {"mvlgamma.mvlgamma_p_5", record_mvlgamma},
    {"logit", record_logit},
    {"heaviside", record_heaviside},
    {"nextafter", record_nextafter},
    {"ldexp", record_ldexp},
    {"float_power", record_float_power},
    {"frexp", record_frexp},
    {"real", record_real},
    {"conj", record_conj},
    {"conj_physical", record_conj_physical},
    {"resolve_conj", record_resolve_conj},
    {"resolve_neg", record_resolve_neg},
    {"isreal", record_isreal},
    {NULL, NULL},
};

const family_tests special_tests = {cases, gradients, adapters};
