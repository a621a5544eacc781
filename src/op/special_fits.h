/* op/special_fits.h: polynomials of the special functions (op/special.h): interpolants at Chebyshev nodes, and power series
 * (Abramowitz & Stegun, Handbook of Mathematical Functions, 9.6.10 - 9.6.13), made with mpmath at 40 digits. Errors against it,
 * relative: below 5e-10 where TN_NARROW (the result has 24 digits), else below 2e-16. No include guard: as op/element.h. */
/* erfcx(a) / u, s = 2 u - 1, u = 1 / (1 + 0.4 a) */
DEVICE TW E(tn_fit_erfcx)(TW s)
{
#if TN_NARROW
    TW p = KW(-9.755881638855998e-07);
    p = FMAW(p, s, KW(4.412917381519607e-06));
    p = FMAW(p, s, KW(5.834651737384026e-06));
    p = FMAW(p, s, KW(-4.1302801885709085e-05));
    p = FMAW(p, s, KW(-2.209216785294937e-05));
    p = FMAW(p, s, KW(0.00027860991618809325));
    p = FMAW(p, s, KW(0.00017527399923874084));
    p = FMAW(p, s, KW(-0.0019266670696085886));
    p = FMAW(p, s, KW(-0.003357151472194562));
    p = FMAW(p, s, KW(0.011344480458509292));
    p = FMAW(p, s, KW(0.0685004540186065));
    p = FMAW(p, s, KW(0.18156565533336652));
    p = FMAW(p, s, KW(0.32186073981716967));
    p = FMAW(p, s, KW(0.42161272803387634));
#else
    TW p = KW(-4.701094307505604e-10);
    p = FMAW(p, s, KW(1.7969087890231686e-11));
    p = FMAW(p, s, KW(4.630505485159688e-09));
    p = FMAW(p, s, KW(-2.6084401978573584e-09));
    p = FMAW(p, s, KW(-2.170052205605323e-08));
    p = FMAW(p, s, KW(2.9739028368531705e-08));
    p = FMAW(p, s, KW(5.602252998133552e-08));
    p = FMAW(p, s, KW(-1.81789897939549e-07));
    p = FMAW(p, s, KW(-3.020565850210336e-09));
    p = FMAW(p, s, KW(7.873308790238684e-07));
    p = FMAW(p, s, KW(-9.325949963794986e-07));
    p = FMAW(p, s, KW(-2.7029966511944724e-06));
    p = FMAW(p, s, KW(7.297638346319215e-06));
    p = FMAW(p, s, KW(7.813352432548358e-06));
    p = FMAW(p, s, KW(-4.504190630925243e-05));
    p = FMAW(p, s, KW(-2.3323227697790856e-05));
    p = FMAW(p, s, KW(0.00028107748522941033));
    p = FMAW(p, s, KW(0.00017568332067584915));
    p = FMAW(p, s, KW(-0.0019275142088583748));
    p = FMAW(p, s, KW(-0.003357217721957947));
    p = FMAW(p, s, KW(0.01134462005277536));
    p = FMAW(p, s, KW(0.06850045809844968));
    p = FMAW(p, s, KW(0.18156564665923888));
    p = FMAW(p, s, KW(0.32186073977565927));
    p = FMAW(p, s, KW(0.4216127281222872));
#endif
    return p;
}

/* erfinv(x) / x, s = w / 3.125 - 1, w = -log(1 - x^2) up to 6.25; good for 8 digits */
DEVICE TW E(tn_fit_erfinv_near)(TW s)
{
    TW p = KW(6.543455592547639e-07);
    p = FMAW(p, s, KW(5.930168428740801e-05));
    p = FMAW(p, s, KW(-0.00013252552754013339));
    p = FMAW(p, s, KW(-0.00022648746467734878));
    p = FMAW(p, s, KW(0.0012401178688580216));
    p = FMAW(p, s, KW(-0.0012911827111619905));
    p = FMAW(p, s, KW(-0.004139045760389229));
    p = FMAW(p, s, KW(0.017812905613285045));
    p = FMAW(p, s, KW(-0.02260430140959772));
    p = FMAW(p, s, KW(-0.05892295548787911));
    p = FMAW(p, s, KW(0.7504943180579087));
    p = FMAW(p, s, KW(1.6536545680743835));
    return p;
}

/* the same, s = (root of w - 3.3) / 0.9, the root from 2.4 to 4.2 */
DEVICE TW E(tn_fit_erfinv_end)(TW s)
{
    TW p = KW(2.5418614741200974e-05);
    p = FMAW(p, s, KW(-1.1254017365658198e-05));
    p = FMAW(p, s, KW(-0.000168227582595595));
    p = FMAW(p, s, KW(0.00046955550438949135));
    p = FMAW(p, s, KW(-0.0008370481130781529));
    p = FMAW(p, s, KW(0.0013704031924955196));
    p = FMAW(p, s, KW(-0.002400691784859336));
    p = FMAW(p, s, KW(0.003924511890818201));
    p = FMAW(p, s, KW(0.9051922122934745));
    p = FMAW(p, s, KW(3.1341615081388694));
    return p;
}

/* the same over the root of w, which is from 2.4 to 28; s: its reciprocal, moved to [-1, 1]; good for 8 digits */
DEVICE TW E(tn_fit_erfinv_far)(TW s)
{
    TW p = KW(7.31959957073091e-05);
    p = FMAW(p, s, KW(0.00010527261950478362));
    p = FMAW(p, s, KW(-0.0002766470626877785));
    p = FMAW(p, s, KW(-0.0005922696200190186));
    p = FMAW(p, s, KW(0.00035425368796105093));
    p = FMAW(p, s, KW(0.0013525277971831217));
    p = FMAW(p, s, KW(0.00013329809034477236));
    p = FMAW(p, s, KW(-0.00164667761588207));
    p = FMAW(p, s, KW(-0.0009570595978698026));
    p = FMAW(p, s, KW(0.0007404197319834959));
    p = FMAW(p, s, KW(0.0012896713365902568));
    p = FMAW(p, s, KW(0.000507727157506952));
    p = FMAW(p, s, KW(0.000520191312404795));
    p = FMAW(p, s, KW(-0.0012870227137634432));
    p = FMAW(p, s, KW(0.004449883104941783));
    p = FMAW(p, s, KW(0.001364267162738185));
    p = FMAW(p, s, KW(-0.0382906706392959));
    p = FMAW(p, s, KW(0.9647025720027104));
    return p;
}

/* exp(-a) I0(a), s = a / 4 - 1, a up to 8 */
DEVICE TW E(tn_fit_i0_small)(TW s)
{
#if TN_NARROW
    TW p = KW(-0.00013152060630607088);
    p = FMAW(p, s, KW(0.00034824109057890804));
    p = FMAW(p, s, KW(-0.00022722968338111303));
    p = FMAW(p, s, KW(0.0004143919060489856));
    p = FMAW(p, s, KW(-0.0020044758245779414));
    p = FMAW(p, s, KW(0.004166015653562654));
    p = FMAW(p, s, KW(-0.006651419484491594));
    p = FMAW(p, s, KW(0.011557353661066808));
    p = FMAW(p, s, KW(-0.019745851414068618));
    p = FMAW(p, s, KW(0.030358703692477982));
    p = FMAW(p, s, KW(-0.04296881129335962));
    p = FMAW(p, s, KW(0.05672795589861263));
    p = FMAW(p, s, KW(-0.06954385402504584));
    p = FMAW(p, s, KW(0.07928284334431146));
    p = FMAW(p, s, KW(-0.08496317214579));
    p = FMAW(p, s, KW(0.08734281771702368));
    p = FMAW(p, s, KW(-0.08904344770455307));
    p = FMAW(p, s, KW(0.09451564672892827));
    p = FMAW(p, s, KW(-0.1130043268544693));
    p = FMAW(p, s, KW(0.20700192113298854));
#else
    TW p = KW(4.394426308340083e-09);
    p = FMAW(p, s, KW(-1.631130691668671e-08));
    p = FMAW(p, s, KW(2.679771004975793e-08));
    p = FMAW(p, s, KW(-8.594601526025913e-08));
    p = FMAW(p, s, KW(3.659216730162776e-07));
    p = FMAW(p, s, KW(-1.1419495259048662e-06));
    p = FMAW(p, s, KW(3.232396382443255e-06));
    p = FMAW(p, s, KW(-9.183910794736519e-06));
    p = FMAW(p, s, KW(2.5198651465609148e-05));
    p = FMAW(p, s, KW(-6.55678677969644e-05));
    p = FMAW(p, s, KW(0.0001624084559061418));
    p = FMAW(p, s, KW(-0.0003828654139905961));
    p = FMAW(p, s, KW(0.0008563135177565376));
    p = FMAW(p, s, KW(-0.0018119029764120445));
    p = FMAW(p, s, KW(0.0036171271654272855));
    p = FMAW(p, s, KW(-0.006792394821044967));
    p = FMAW(p, s, KW(0.011960077703464203));
    p = FMAW(p, s, KW(-0.019682655784004566));
    p = FMAW(p, s, KW(0.03017791206221918));
    p = FMAW(p, s, KW(-0.04298594929673067));
    p = FMAW(p, s, KW(0.05677703201501785));
    p = FMAW(p, s, KW(-0.06954119563154397));
    p = FMAW(p, s, KW(0.07927522590752974));
    p = FMAW(p, s, KW(-0.08496338091542556));
    p = FMAW(p, s, KW(0.08734341617550884));
    p = FMAW(p, s, KW(-0.08904344136077733));
    p = FMAW(p, s, KW(0.09451562853995125));
    p = FMAW(p, s, KW(-0.11300432688620536));
    p = FMAW(p, s, KW(0.2070019212239867));
#endif
    return p;
}

/* exp(-a) I0(a) sqrt(a), s = 16 / a - 1, a from 8 */
DEVICE TW E(tn_fit_i0_large)(TW s)
{
#if TN_NARROW
    TW p = KW(3.3635802235185296e-08);
    p = FMAW(p, s, KW(1.0910232941075882e-07));
    p = FMAW(p, s, KW(3.0383309086686276e-07));
    p = FMAW(p, s, KW(1.4754756356201013e-06));
    p = FMAW(p, s, KW(1.1141542189580863e-05));
    p = FMAW(p, s, KW(0.000136217407834547));
    p = FMAW(p, s, KW(0.0033605520313900634));
    p = FMAW(p, s, KW(0.4021765094053054));
#else
    TW p = KW(-2.4421972688131832e-11);
    p = FMAW(p, s, KW(9.114760157514253e-11));
    p = FMAW(p, s, KW(1.7698085539456536e-10));
    p = FMAW(p, s, KW(-6.494591114401118e-10));
    p = FMAW(p, s, KW(-6.327909921997027e-10));
    p = FMAW(p, s, KW(2.163681278413876e-09));
    p = FMAW(p, s, KW(1.6084886155781772e-09));
    p = FMAW(p, s, KW(-4.5305710768621196e-09));
    p = FMAW(p, s, KW(-3.5862834111582305e-09));
    p = FMAW(p, s, KW(6.522264862032271e-09));
    p = FMAW(p, s, KW(7.600254486433509e-09));
    p = FMAW(p, s, KW(-5.0175940345046716e-09));
    p = FMAW(p, s, KW(-1.3427511481900905e-08));
    p = FMAW(p, s, KW(-6.856484545962442e-09));
    p = FMAW(p, s, KW(7.559364098665437e-09));
    p = FMAW(p, s, KW(2.156780676115673e-08));
    p = FMAW(p, s, KW(3.932512321137824e-08));
    p = FMAW(p, s, KW(8.872014585661555e-08));
    p = FMAW(p, s, KW(2.9735992084667734e-07));
    p = FMAW(p, s, KW(1.4838476780922646e-06));
    p = FMAW(p, s, KW(1.114303378845176e-05));
    p = FMAW(p, s, KW(0.00013621607438951463));
    p = FMAW(p, s, KW(0.0033605519836678913));
    p = FMAW(p, s, KW(0.4021765094450081));
#endif
    return p;
}

/* exp(a) K0(a) sqrt(a), s = 4 / a - 1, a from 2 */
DEVICE TW E(tn_fit_k0_large)(TW s)
{
#if TN_NARROW
    TW p = KW(-4.1419766193259707e-07);
    p = FMAW(p, s, KW(1.09510073935353e-06));
    p = FMAW(p, s, KW(-2.0504798608950206e-06));
    p = FMAW(p, s, KW(6.663565676599753e-06));
    p = FMAW(p, s, KW(-2.4787799099408475e-05));
    p = FMAW(p, s, KW(9.968673429957002e-05));
    p = FMAW(p, s, KW(-0.00047976234505297383));
    p = FMAW(p, s, KW(0.0030328757311790058));
    p = FMAW(p, s, KW(-0.031071461959649965));
    p = FMAW(p, s, KW(1.218595338836143));
#else
    TW p = KW(9.815402008859526e-11);
    p = FMAW(p, s, KW(-1.7415792636713548e-10));
    p = FMAW(p, s, KW(-2.511583623750801e-10));
    p = FMAW(p, s, KW(4.297822831935991e-10));
    p = FMAW(p, s, KW(6.696909677353191e-10));
    p = FMAW(p, s, KW(-1.2154646925329214e-09));
    p = FMAW(p, s, KW(2.3928247577454007e-10));
    p = FMAW(p, s, KW(-6.909445532095268e-10));
    p = FMAW(p, s, KW(3.649704196745876e-09));
    p = FMAW(p, s, KW(-8.004851515961861e-09));
    p = FMAW(p, s, KW(1.713185600678902e-08));
    p = FMAW(p, s, KW(-4.106658027115221e-08));
    p = FMAW(p, s, KW(1.0292557328065749e-07));
    p = FMAW(p, s, KW(-2.6897300718519323e-07));
    p = FMAW(p, s, KW(7.427862249156294e-07));
    p = FMAW(p, s, KW(-2.191167925216506e-06));
    p = FMAW(p, s, KW(7.002244891192467e-06));
    p = FMAW(p, s, KW(-2.4735205374482363e-05));
    p = FMAW(p, s, KW(9.95605474680701e-05));
    p = FMAW(p, s, KW(-0.00047976905673534966));
    p = FMAW(p, s, KW(0.003032891810274143));
    p = FMAW(p, s, KW(-0.031071461824889863));
    p = FMAW(p, s, KW(1.2185953385133905));
#endif
    return p;
}

/* exp(-a) I1(a) / a, s = a / 4 - 1, a up to 8 */
DEVICE TW E(tn_fit_i1_small)(TW s)
{
#if TN_NARROW
    TW p = KW(-1.694785151624946e-05);
    p = FMAW(p, s, KW(4.7479082033953785e-05));
    p = FMAW(p, s, KW(-4.317720058003002e-05));
    p = FMAW(p, s, KW(9.375809886867844e-05));
    p = FMAW(p, s, KW(-0.0003636452040028463));
    p = FMAW(p, s, KW(0.000812047943412777));
    p = FMAW(p, s, KW(-0.001522471036028631));
    p = FMAW(p, s, KW(0.0029563628396675574));
    p = FMAW(p, s, KW(-0.005541908244896256));
    p = FMAW(p, s, KW(0.009606095385955372));
    p = FMAW(p, s, KW(-0.015569320920202672));
    p = FMAW(p, s, KW(0.023680016667049938));
    p = FMAW(p, s, KW(-0.03367166370472805));
    p = FMAW(p, s, KW(0.0446755031610766));
    p = FMAW(p, s, KW(-0.05528001503648954));
    p = FMAW(p, s, KW(0.06376733064622675));
    p = FMAW(p, s, KW(-0.06848260694070092));
    p = FMAW(p, s, KW(0.06805760212960305));
    p = FMAW(p, s, KW(-0.061124338025990106));
    p = FMAW(p, s, KW(0.04468770986450251));
#else
    TW p = KW(3.6696752013169966e-10);
    p = FMAW(p, s, KW(-1.4165980180332847e-09));
    p = FMAW(p, s, KW(2.644330576999187e-09));
    p = FMAW(p, s, KW(-8.986801013193351e-09));
    p = FMAW(p, s, KW(3.7901404602356164e-08));
    p = FMAW(p, s, KW(-1.2424046295570417e-07));
    p = FMAW(p, s, KW(3.7617292810159424e-07));
    p = FMAW(p, s, KW(-1.1327198008251626e-06));
    p = FMAW(p, s, KW(3.29361514435675e-06));
    p = FMAW(p, s, KW(-9.136529630106953e-06));
    p = FMAW(p, s, KW(2.4233987591498262e-05));
    p = FMAW(p, s, KW(-6.142361409267038e-05));
    p = FMAW(p, s, KW(0.00014842110758080817));
    p = FMAW(p, s, KW(-0.0003411760229204836));
    p = FMAW(p, s, KW(0.0007445123998749739));
    p = FMAW(p, s, KW(-0.001538874564273584));
    p = FMAW(p, s, KW(0.0030057624040464932));
    p = FMAW(p, s, KW(-0.005534567846988655));
    p = FMAW(p, s, KW(0.009583962153764291));
    p = FMAW(p, s, KW(-0.015571309244077562));
    p = FMAW(p, s, KW(0.023686016957350876));
    p = FMAW(p, s, KW(-0.03367135552107505));
    p = FMAW(p, s, KW(0.044674572621282986));
    p = FMAW(p, s, KW(-0.05528003922699226));
    p = FMAW(p, s, KW(0.06376740371340611));
    p = FMAW(p, s, KW(-0.0684826062058269));
    p = FMAW(p, s, KW(0.06805759990951162));
    p = FMAW(p, s, KW(-0.061124338029666284));
    p = FMAW(p, s, KW(0.044687709875608835));
#endif
    return p;
}

/* exp(-a) I1(a) sqrt(a), s = 16 / a - 1, a from 8 */
DEVICE TW E(tn_fit_i1_large)(TW s)
{
#if TN_NARROW
    TW p = KW(-3.7856024793316294e-08);
    p = FMAW(p, s, KW(-1.2318419674047784e-07));
    p = FMAW(p, s, KW(-3.5481954165334105e-07));
    p = FMAW(p, s, KW(-1.8250069387125121e-06));
    p = FMAW(p, s, KW(-1.5037047143805947e-05));
    p = FMAW(p, s, KW(-0.00021923738535629923));
    p = FMAW(p, s, KW(-0.009749577241315432));
    p = FMAW(p, s, KW(0.3893984590744713));
#else
    TW p = KW(-1.13288885034257e-10);
    p = FMAW(p, s, KW(-3.2677656089803323e-11));
    p = FMAW(p, s, KW(7.79067217908059e-10));
    p = FMAW(p, s, KW(2.582169443152386e-10));
    p = FMAW(p, s, KW(-2.5062162405593894e-09));
    p = FMAW(p, s, KW(-1.0476127785270019e-09));
    p = FMAW(p, s, KW(5.094016301574338e-09));
    p = FMAW(p, s, KW(3.0717395650769477e-09));
    p = FMAW(p, s, KW(-7.222524178953976e-09));
    p = FMAW(p, s, KW(-7.432535335623792e-09));
    p = FMAW(p, s, KW(5.722677527454156e-09));
    p = FMAW(p, s, KW(1.3952625102162603e-08));
    p = FMAW(p, s, KW(6.795073490187386e-09));
    p = FMAW(p, s, KW(-8.407326839577817e-09));
    p = FMAW(p, s, KW(-2.3382691353601083e-08));
    p = FMAW(p, s, KW(-4.31323156237458e-08));
    p = FMAW(p, s, KW(-1.0001220638799958e-07));
    p = FMAW(p, s, KW(-3.483853071371078e-07));
    p = FMAW(p, s, KW(-1.8349101539664522e-06));
    p = FMAW(p, s, KW(-1.503854721127423e-05));
    p = FMAW(p, s, KW(-0.000219235763833829));
    p = FMAW(p, s, KW(-0.009749577193235609));
    p = FMAW(p, s, KW(0.38939845902587233));
#endif
    return p;
}

/* exp(a) K1(a) sqrt(a), s = 4 / a - 1, a from 2 */
DEVICE TW E(tn_fit_k1_large)(TW s)
{
#if TN_NARROW
    TW p = KW(-2.0364072834507022e-07);
    p = FMAW(p, s, KW(5.145369895732611e-07));
    p = FMAW(p, s, KW(-8.149907604760179e-07));
    p = FMAW(p, s, KW(2.5165641838607544e-06));
    p = FMAW(p, s, KW(-9.003549987910513e-06));
    p = FMAW(p, s, KW(3.294206322075126e-05));
    p = FMAW(p, s, KW(-0.00013958245269877717));
    p = FMAW(p, s, KW(0.000735706174561173));
    p = FMAW(p, s, KW(-0.005566730272481506));
    p = FMAW(p, s, KW(0.10334973866167059));
    p = FMAW(p, s, KW(1.363151890371342));
#else
    TW p = KW(-1.0724391572705258e-10);
    p = FMAW(p, s, KW(1.9076899650576552e-10));
    p = FMAW(p, s, KW(2.7260400995214217e-10));
    p = FMAW(p, s, KW(-4.671582670762342e-10));
    p = FMAW(p, s, KW(-7.347807544194839e-10));
    p = FMAW(p, s, KW(1.3385849977465314e-09));
    p = FMAW(p, s, KW(-2.915889725458638e-10));
    p = FMAW(p, s, KW(8.254002611298962e-10));
    p = FMAW(p, s, KW(-4.159564044495663e-09));
    p = FMAW(p, s, KW(9.191838293612963e-09));
    p = FMAW(p, s, KW(-1.990916912542139e-08));
    p = FMAW(p, s, KW(4.8165011477502914e-08));
    p = FMAW(p, s, KW(-1.2200063909110853e-07));
    p = FMAW(p, s, KW(3.230534911986308e-07));
    p = FMAW(p, s, KW(-9.067153917791994e-07));
    p = FMAW(p, s, KW(2.7300306911646126e-06));
    p = FMAW(p, s, KW(-8.961206568008175e-06));
    p = FMAW(p, s, KW(3.2843866443823695e-05));
    p = FMAW(p, s, KW(-0.0001395902196146278));
    p = FMAW(p, s, KW(0.0007357241548745106));
    p = FMAW(p, s, KW(-0.005566729880073309));
    p = FMAW(p, s, KW(0.1033497377538656));
    p = FMAW(p, s, KW(1.363151890371342));
#endif
    return p;
}

/* I0(a), s = a^2 / 4 up to 1 */
DEVICE TW E(tn_fit_i0_series)(TW s)
{
#if TN_NARROW
    TW p = KW(3.936759889140842e-08);
    p = FMAW(p, s, KW(1.9290123456790124e-06));
    p = FMAW(p, s, KW(6.944444444444444e-05));
    p = FMAW(p, s, KW(0.001736111111111111));
    p = FMAW(p, s, KW(0.027777777777777776));
    p = FMAW(p, s, KW(0.25));
    p = FMAW(p, s, KW(1.0));
    p = FMAW(p, s, KW(1.0));
#else
    TW p = KW(6.276081345559193e-16);
    p = FMAW(p, s, KW(7.594058428126623e-14));
    p = FMAW(p, s, KW(7.594058428126624e-12));
    p = FMAW(p, s, KW(6.151187326782565e-10));
    p = FMAW(p, s, KW(3.936759889140842e-08));
    p = FMAW(p, s, KW(1.9290123456790124e-06));
    p = FMAW(p, s, KW(6.944444444444444e-05));
    p = FMAW(p, s, KW(0.001736111111111111));
    p = FMAW(p, s, KW(0.027777777777777776));
    p = FMAW(p, s, KW(0.25));
    p = FMAW(p, s, KW(1.0));
    p = FMAW(p, s, KW(1.0));
#endif
    return p;
}

/* what K0(a) has beside -(log(a / 2) + Euler's constant) I0(a): the sum of H(k) s^k / k!^2 */
DEVICE TW E(tn_fit_k0_series)(TW s)
{
#if TN_NARROW
    TW p = KW(1.0207455998272325e-07);
    p = FMAW(p, s, KW(4.72608024691358e-06));
    p = FMAW(p, s, KW(0.0001585648148148148));
    p = FMAW(p, s, KW(0.003616898148148148));
    p = FMAW(p, s, KW(0.05092592592592592));
    p = FMAW(p, s, KW(0.375));
    p = FMAW(p, s, KW(1.0));
    p = FMAW(p, s, KW(0.0));
#else
    TW p = KW(1.895299587006153e-15);
    p = FMAW(p, s, KW(2.224275605476294e-13));
    p = FMAW(p, s, KW(2.1483350211950277e-11));
    p = FMAW(p, s, KW(1.6718048413148328e-09));
    p = FMAW(p, s, KW(1.0207455998272325e-07));
    p = FMAW(p, s, KW(4.72608024691358e-06));
    p = FMAW(p, s, KW(0.0001585648148148148));
    p = FMAW(p, s, KW(0.003616898148148148));
    p = FMAW(p, s, KW(0.05092592592592592));
    p = FMAW(p, s, KW(0.375));
    p = FMAW(p, s, KW(1.0));
    p = FMAW(p, s, KW(0.0));
#endif
    return p;
}

/* I1(a) 2 / a */
DEVICE TW E(tn_fit_i1_series)(TW s)
{
#if TN_NARROW
    TW p = KW(4.920949861426052e-09);
    p = FMAW(p, s, KW(2.755731922398589e-07));
    p = FMAW(p, s, KW(1.1574074074074073e-05));
    p = FMAW(p, s, KW(0.00034722222222222224));
    p = FMAW(p, s, KW(0.006944444444444444));
    p = FMAW(p, s, KW(0.08333333333333333));
    p = FMAW(p, s, KW(0.5));
    p = FMAW(p, s, KW(1.0));
#else
    TW p = KW(5.230067787965994e-17);
    p = FMAW(p, s, KW(6.903689480115112e-15));
    p = FMAW(p, s, KW(7.594058428126623e-13));
    p = FMAW(p, s, KW(6.834652585313961e-11));
    p = FMAW(p, s, KW(4.920949861426052e-09));
    p = FMAW(p, s, KW(2.755731922398589e-07));
    p = FMAW(p, s, KW(1.1574074074074073e-05));
    p = FMAW(p, s, KW(0.00034722222222222224));
    p = FMAW(p, s, KW(0.006944444444444444));
    p = FMAW(p, s, KW(0.08333333333333333));
    p = FMAW(p, s, KW(0.5));
    p = FMAW(p, s, KW(1.0));
#endif
    return p;
}

/* K1(a) = 1 / a + log(a / 2) I1(a) - a / 4 times this: the sum of (psi(k + 1) + psi(k + 2)) s^k / (k! (k + 1)!) */
DEVICE TW E(tn_fit_k1_series)(TW s)
{
#if TN_NARROW
    TW p = KW(2.045286003593878e-08);
    p = FMAW(p, s, KW(1.071545914091181e-06));
    p = FMAW(p, s, KW(4.142247689271143e-05));
    p = FMAW(p, s, KW(0.001115359491966528));
    p = FMAW(p, s, KW(0.019182189839330562));
    p = FMAW(p, s, KW(0.18157516696085563));
    p = FMAW(p, s, KW(0.6727843350984671));
    p = FMAW(p, s, KW(-0.15443132980306573));
#else
    TW p = KW(2.5986411321011286e-16);
    p = FMAW(p, s, KW(3.309914735250272e-14));
    p = FMAW(p, s, KW(3.495928729692882e-12));
    p = FMAW(p, s, KW(3.002048746589188e-10));
    p = FMAW(p, s, KW(2.045286003593878e-08));
    p = FMAW(p, s, KW(1.071545914091181e-06));
    p = FMAW(p, s, KW(4.142247689271143e-05));
    p = FMAW(p, s, KW(0.001115359491966528));
    p = FMAW(p, s, KW(0.019182189839330562));
    p = FMAW(p, s, KW(0.18157516696085563));
    p = FMAW(p, s, KW(0.6727843350984671));
    p = FMAW(p, s, KW(-0.15443132980306573));
#endif
    return p;
}
