/* ops/sort/infer_search.h: what is looked up in sorted rows: the parameter 'how' of _search. */
#ifndef TENON_OPS_SORT_INFER_SEARCH_H
#define TENON_OPS_SORT_INFER_SEARCH_H

/* Where the value belongs, before or behind those that equal it; whether it is there, or is not. */
enum { TN__SEARCH_BEFORE, TN__SEARCH_BEHIND, TN__SEARCH_FOUND, TN__SEARCH_MISSING };

/* The parameter 'how' of _bins: by bins of equal width alone, the same but the edges decide, by the edges. */
enum { TN__BIN_EVEN, TN__BIN_NEAR, TN__BIN_EDGES };

#endif
