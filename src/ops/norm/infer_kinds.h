/* ops/norm/infer_kinds.h: what a row is divided by, of which eps is part or bound; all that compute it count so. */
#ifndef TENON_OPS_NORM_INFER_KINDS_H
#define TENON_OPS_NORM_INFER_KINDS_H

enum {
    TN__BY_VARIANCE, /* sqrt(variance + eps), the mean being subtracted first */
    TN__BY_SQUARES,  /* sqrt(mean of squares + eps) */
    TN__BY_NORM      /* the larger of 2-norm and eps */
};

#endif
