/* op/ops_undef.h: forgets the row macros after ops.def was read. No include guard: it is read after every reading. */
#undef UNARY
#undef BINARY
#undef TERNARY
#undef OP
#undef VIEW
#undef COMP
#undef FUNC
