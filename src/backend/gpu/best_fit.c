/* backend/gpu/best_fit.c: free blocks in order, as a treap: a search tree by size and address that is a heap by a hash of the
 * address, so it is balanced whatever comes in whatever order, and needs no memory beside the blocks. */
#include "backend/gpu/memory.h"

static inline uint64_t rank(const tn__gpu_block *b)
{
    return ((uint64_t)(uintptr_t)b->p >> 9) * UINT64_C(0x9E3779B97F4A7C15);
}

static inline bool less(const tn__gpu_block *a, const tn__gpu_block *b)
{
    return a->size != b->size ? a->size < b->size : a->p < b->p;
}

void tn__best_fit_add(tn__gpu_block **root, tn__gpu_block *b)
{
    while (*root && rank(*root) > rank(b))
        root = less(b, *root) ? &(*root)->left : &(*root)->right;
    /* b takes this place; what was here is parted into what is less and what is not */
    tn__gpu_block *t = *root, **low = &b->left, **high = &b->right;
    *root = b;
    while (t) {
        if (less(t, b)) {
            *low = t;
            low = &t->right;
            t = t->right;
        } else {
            *high = t;
            high = &t->left;
            t = t->left;
        }
    }
    *low = *high = NULL;
}

void tn__best_fit_remove(tn__gpu_block **root, tn__gpu_block *b)
{
    while (*root != b)
        root = less(b, *root) ? &(*root)->left : &(*root)->right;
    tn__gpu_block *low = b->left, *high = b->right;
    while (low && high) {
        if (rank(low) > rank(high)) {
            *root = low;
            root = &low->right;
            low = low->right;
        } else {
            *root = high;
            root = &high->left;
            high = high->left;
        }
    }
    *root = low ? low : high;
    b->left = b->right = NULL;
}

tn__gpu_block *tn__best_fit_find(tn__gpu_block *root, size_t size)
{
    tn__gpu_block *best = NULL;
    while (root) {
        if (root->size >= size) {
            best = root;
            root = root->left;
        } else {
            root = root->right;
        }
    }
    return best;
}
