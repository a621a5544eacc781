/* Who comes first: groups of a launch, warps of a group, lanes of a warp. No GPU promises an order. */
#include "fakegpu/kernel.h"

uint64_t fake_draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* ---- groups: there may be too many for a list. i -> factor * i + offset (mod n) meets each once, if the factor has no divisor
 * with n ---- */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

fake_group_order fake_group_order_of(uint64_t n, bool drawn, uint64_t seed)
{
    fake_group_order o = {n, 1, 0};
    if (!drawn || n == 1)
        return o;
    o.offset = fake_draw(&seed) % n;
    o.factor = fake_draw(&seed) % n;
    while (common_divisor(o.factor, n) != 1)
        o.factor++;
    return o;
}

uint64_t fake_group_order_at(const fake_group_order *o, uint64_t i)
{
    if (o->factor == 1 && !o->offset)
        return i;
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)(((wide)i * o->factor + o->offset) % o->n);
}

/* ---- items ---- */

static int warps(const fake_item_order *o)
{
    return (o->n + FAKE_WARP - 1) / FAKE_WARP;
}

static int lanes(const fake_item_order *o, int warp)
{
    const int rest = o->n - warp * FAKE_WARP;
    return rest < FAKE_WARP ? rest : FAKE_WARP;
}

void fake_item_order_launch(fake_item_order *o, int n, bool drawn)
{
    if (o->n == n && !o->drawn && !drawn)
        return;
    o->n = n;
    o->drawn = drawn;
    for (int w = 0; w < warps(o); w++) {
        o->warp[0][w] = (uint16_t)w;
        o->warp[1][w] = (uint16_t)(warps(o) - 1 - w);
        for (int i = 0; i < lanes(o, w); i++) {
            o->item[0][w * FAKE_WARP + i] = (uint16_t)(w * FAKE_WARP + i);
            o->item[1][w * FAKE_WARP + i] = (uint16_t)(w * FAKE_WARP + lanes(o, w) - 1 - i);
        }
    }
}

void fake_item_order_group(fake_item_order *o, uint64_t number, uint64_t seed)
{
    o->turn = (unsigned)number;
    o->state = seed ^ number * 0xd1342543de82ef95u;
}

static void draw(uint16_t *list, int n, uint64_t *state)
{
    for (int i = n - 1; i > 0; i--) {
        const int other = (int)(fake_draw(state) % (unsigned)(i + 1));
        const uint16_t kept = list[i];
        list[i] = list[other];
        list[other] = kept;
    }
}

int fake_item_order_turn(fake_item_order *o)
{
    if (!o->drawn)
        return o->turn++ & 1;
    draw(o->warp[0], warps(o), &o->state);
    for (int w = 0; w < warps(o); w++)
        draw(o->item[0] + w * FAKE_WARP, lanes(o, w), &o->state);
    return 0;
}

const uint16_t *fake_item_order_all(fake_item_order *o)
{
    if (o->drawn)
        draw(o->item[0], o->n, &o->state);
    return o->item[0];
}
