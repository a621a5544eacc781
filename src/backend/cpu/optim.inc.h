/* backend/cpu/optim.inc.h: optimiser updates, one pass over parameter, gradient and state. The formulas are those of
 * torch.optim's SGD, Adam and AdamW documentation; hyperparameters lie in tn__attr as ops.def names them. */

/* x: lr, y: momentum, z: dampening, w: weight decay; flag: nesterov; keepdim: first step (the buffer is not set yet) */
static void E(sgd)(void *p_, const void *g_, void *buffer_, int64_t n, const tn__attr *a)
{
    T *p = p_, *buffer = buffer_;
    const T *g = g_;
    const T lr = (T)a->x, momentum = (T)a->y, keep = (T)(1 - a->z), decay = (T)a->w, sign = a->maximize ? K(-1) : K(1);
    if (!buffer) {
        for (int64_t i = 0; i < n; i++)
            p[i] -= lr * (sign * g[i] + decay * p[i]);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        T d = sign * g[i] + decay * p[i];
        T b = a->keepdim ? d : momentum * buffer[i] + keep * d;
        buffer[i] = b;
        p[i] -= lr * (a->flag ? d + momentum * b : b);
    }
}

/* x: lr, y, z: betas, w: eps, u: weight decay; step: this one's number, from 1; flag: decoupled decay (AdamW) */
static void E(adam)(void *p_, const void *g_, void *m_, void *v_, int64_t n, const tn__attr *a)
{
    T *p = p_, *m = m_, *v = v_;
    const T *g = g_;
    const double correct1 = 1 - pow(a->y, (double)a->step), correct2 = 1 - pow(a->z, (double)a->step);
    const T rate = (T)(a->x / correct1), root = (T)(1 / sqrt(correct2)), eps = (T)a->w;
    const T b1 = (T)a->y, c1 = (T)(1 - a->y), b2 = (T)a->z, c2 = (T)(1 - a->z);
    const T shrink = (T)(a->flag ? 1 - a->x * a->u : 1), decay = (T)(a->flag ? 0 : a->u);
    const T sign = a->maximize ? K(-1) : K(1);
    for (int64_t i = 0; i < n; i++) {
        T w = p[i] * shrink, d = sign * g[i] + decay * w;
        T mi = b1 * m[i] + c1 * d, vi = b2 * v[i] + c2 * (d * d);
        m[i] = mi;
        v[i] = vi;
        p[i] = w - rate * mi / (M(sqrt)(vi) * root + eps);
    }
}
