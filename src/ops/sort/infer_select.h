/* ops/sort/infer_select.h: which element of a row is selected: the parameter 'which' of _select. */
#ifndef TENON_OPS_SORT_INFER_SELECT_H
#define TENON_OPS_SORT_INFER_SELECT_H

/* The k-th, NaN the largest; NaN where there is one, else the k-th; the middle one of those that are not NaN. */
enum { TN__SELECT_KTH, TN__SELECT_MEDIAN, TN__SELECT_NANMEDIAN };

#endif
