/* Handles of nodes. What an edge leads to, a node or a leaf, is the handle itself: one node, one address. */
#include "autograd/functions.h"
#include "autograd/hooks.h"

static tn_node *handle(tn__edge edge, uint32_t *output)
{
    if (output && edge.to)
        *output = edge.output;
    return (tn_node *)edge.to;
}

static const tn__node *recorded(const tn_node *n)
{
    const tn__object *o = (const tn__object *)n;
    return o && o->cls == &tn__node_class ? (const tn__node *)o : NULL;
}

tn_node *tn_tensor_gradient_node(const tn_tensor *t, uint32_t *output)
{
    tn_status e = TN_OK;
    if (!t || t == TN_NONE || !tn__wants_grad(t))
        return NULL;
    tn__enter(TN__NOWHERE);
    tn__edge edge = tn__gradient_edge((tn_tensor *)(uintptr_t)t, &e);
    return handle(edge, output);
}

tn_node *tn_tensor_node(const tn_tensor *t)
{
    tn_node *n = tn_tensor_gradient_node(t, NULL);
    if (!n || recorded(n))
        return n;
    tn_node_release(n);
    return NULL;
}

tn_name tn_node_name(const tn_node *n)
{
    tn_name name = {""};
    if (recorded(n))
        memcpy(name.s, tn__node_name(recorded(n)).s, sizeof name.s);
    else if (n)
        memcpy(name.s, "AccumulateGrad", sizeof "AccumulateGrad");
    return name;
}

size_t tn_node_count(const tn_node *n)
{
    return recorded(n) ? (size_t)recorded(n)->n_in : 0;
}

tn_node *tn_node_next(const tn_node *n, size_t i, uint32_t *output)
{
    if (i >= tn_node_count(n) || !recorded(n)->edge[i].to)
        return NULL;
    tn__object_retain(recorded(n)->edge[i].to);
    return handle(recorded(n)->edge[i], output);
}

tn_tensor *tn_node_leaf(const tn_node *n)
{
    return n && !recorded(n) ? (tn_tensor *)(uintptr_t)n : NULL;
}

tn_node *tn_node_retain(tn_node *n)
{
    return n ? tn__object_retain(n) : NULL;
}

void tn_node_release(tn_node *n)
{
    tn__object_release(n);
}
