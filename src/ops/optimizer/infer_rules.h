/* ops/optimizer/infer_rules.h: the rules of _rule_step_, in the order of their numbers: for the CPU's loops, GPUs' kernels and
 * the steps that name them. */
#define OPTIMIZER_RULES(RULE) \
    RULE(adagrad) \
    RULE(adadelta) \
    RULE(rmsprop) \
    RULE(rmsprop_centred) \
    RULE(rmsprop_momentum) RULE(adamax) RULE(nadam) RULE(radam) RULE(radam_early) RULE(rprop) RULE(asgd)
