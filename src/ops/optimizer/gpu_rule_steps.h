/* ops/optimizer/gpu_rule_steps.h: what each rule of _rule_step_ makes of one element: text of the CPU's loops and of GPUs'
 * kernels, which say before what STEP(name) declares. w: the parameter; g: its gradient, with decay; a, b: state; n.c: numbers,
 * which compose_rules.c works out. Formulas: torch.optim's documentation of the class that the rule is called by. */

STEP(adagrad)
{
    *a += g * g;
    return w - n.c[0] * g / (M(sqrt)(*a) + n.c[1]);
}

STEP(adadelta)
{
    *a = n.c[0] * *a + n.c[1] * (g * g);
    const T delta = M(sqrt)(*b + n.c[3]) / M(sqrt)(*a + n.c[3]) * g;
    *b = n.c[0] * *b + n.c[1] * (delta * delta);
    return w - n.c[2] * delta;
}

STEP(rmsprop)
{
    *a = n.c[0] * *a + n.c[1] * (g * g);
    return w - n.c[2] * g / (M(sqrt)(*a) + n.c[3]);
}

/* b: the gradients' average, whose square is taken off */
STEP(rmsprop_centred)
{
    *a = n.c[0] * *a + n.c[1] * (g * g);
    *b += n.c[1] * (g - *b);
    return w - n.c[2] * g / (M(sqrt)(*a - *b * *b) + n.c[3]);
}

/* b: the momentum's buffer */
STEP(rmsprop_momentum)
{
    *a = n.c[0] * *a + n.c[1] * (g * g);
    *b = n.c[4] * *b + g / (M(sqrt)(*a) + n.c[3]);
    return w - n.c[2] * *b;
}

STEP(adamax)
{
    const T size = M(fabs)(g) + n.c[4], kept = n.c[2] * *b;
    *a = n.c[0] * *a + n.c[1] * g;
    *b = kept > size || kept != kept ? kept : size;
    return w - n.c[3] * *a / *b;
}

STEP(nadam)
{
    *a = n.c[0] * *a + n.c[1] * g;
    *b = n.c[2] * *b + n.c[3] * (g * g);
    return w - (n.c[4] * g + n.c[5] * *a) / (M(sqrt)(*b) * n.c[6] + n.c[7]);
}

STEP(radam)
{
    *a = n.c[0] * *a + n.c[1] * g;
    *b = n.c[2] * *b + n.c[3] * (g * g);
    return w - n.c[4] * *a / (M(sqrt)(*b) + n.c[5]);
}

/* RAdam's first steps, whose variance is not known well enough */
STEP(radam_early)
{
    *a = n.c[0] * *a + n.c[1] * g;
    *b = n.c[2] * *b + n.c[3] * (g * g);
    return w - n.c[4] * *a;
}

/* a: the gradient before, or 0 where the sign had changed; b: the size of the step */
STEP(rprop)
{
    const T product = g * *a;
    const T scaled = *b * (product < K(0) ? n.c[0] : product > K(0) ? n.c[1] : K(1));
    *b = scaled < n.c[2] ? n.c[2] : scaled > n.c[3] ? n.c[3] : scaled;
    *a = product < K(0) ? K(0) : g;
    return w - (*a > K(0) ? *b : *a < K(0) ? -*b : *a * *b);
}

/* a: the average of the parameter */
STEP(asgd)
{
    const T now = w * n.c[0] - n.c[1] * g;
    *a += n.c[2] * (now - *a);
    return now;
}
