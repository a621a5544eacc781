/* ops/random/laws.h: the laws of _mt_law, and what its numbers a and b are to each. */
#ifndef TENON_OPS_RANDOM_LAWS_H
#define TENON_OPS_RANDOM_LAWS_H

enum {
    TN__LAW_EXPONENTIAL, /* a: the most that a logarithm may be; b: -1 / rate */
    TN__LAW_LOG_NORMAL,  /* mean and deviation of the logarithm */
    TN__LAW_CAUCHY,      /* median, scale */
    TN__LAW_GEOMETRIC,   /* a: log(1 - p) */
    TN__LAW_BERNOULLI    /* a: p */
};

#endif
