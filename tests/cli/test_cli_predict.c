/* tenon predict: pictures of every kind, arrays, probabilities; and the real digits, where they are. */
#include "helpers.h"
#include <math.h>
#include <png.h>

static const char model[] = "m.safetensors";

/* ---- pictures ---- */

typedef struct kind {
    const char *name;
    int depth, color;
    bool interlaced;
} kind;

static const kind kinds[] = {
    {"grey8.png", 8, PNG_COLOR_TYPE_GRAY, false},       {"grey16.png", 16, PNG_COLOR_TYPE_GRAY, false},
    {"grey1.png", 1, PNG_COLOR_TYPE_GRAY, false},       {"grey4.png", 4, PNG_COLOR_TYPE_GRAY, false},
    {"greya.png", 8, PNG_COLOR_TYPE_GRAY_ALPHA, false}, {"rgb.png", 8, PNG_COLOR_TYPE_RGB, false},
    {"rgb16.png", 16, PNG_COLOR_TYPE_RGB, false},       {"rgba.png", 8, PNG_COLOR_TYPE_RGB_ALPHA, false},
    {"palette.png", 8, PNG_COLOR_TYPE_PALETTE, false},  {"palette2.png", 2, PNG_COLOR_TYPE_PALETTE, false},
    {"adam7.png", 8, PNG_COLOR_TYPE_GRAY, true},        {"adam7rgba.png", 16, PNG_COLOR_TYPE_RGB_ALPHA, true},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds, LARGEST = 128 };

/* Sample i of a row, most significant bits first. */
static void put(unsigned char *row, int i, int depth, unsigned value)
{
    if (depth == 16) {
        row[2 * i] = (unsigned char)(value >> 8);
        row[2 * i + 1] = (unsigned char)value;
    } else
        row[i * depth / 8] |= (unsigned char)(value << (8 - depth - i * depth % 8));
}

/* A picture in black and white: on(x, y, k) tells which is which. */
static void write_png(const kind *kd, int width, int height, bool (*on)(int x, int y, int k), int k)
{
    static unsigned char data[LARGEST][LARGEST * 8];
    png_bytep rows[LARGEST];
    int channels = kd->color == PNG_COLOR_TYPE_RGB          ? 3
                   : kd->color == PNG_COLOR_TYPE_RGB_ALPHA  ? 4
                   : kd->color == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                                                            : 1;
    bool palette = kd->color == PNG_COLOR_TYPE_PALETTE, alpha = channels == 2 || channels == 4;
    unsigned white = palette ? 1 : (1u << kd->depth) - 1;
    memset(data, 0, sizeof data);
    for (int y = 0; y < height; y++) {
        rows[y] = data[y];
        for (int i = 0; i < width * channels; i++) {
            bool opaque = alpha && i % channels == channels - 1;
            put(data[y], i, kd->depth, opaque || on(i / channels, y, k) ? white : 0);
        }
    }
    FILE *f = fopen(kd->name, "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    assert_true(f && png && info);
    png_init_io(png, f);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, kd->depth, kd->color,
                 kd->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (palette)
        png_set_PLTE(png, info, (png_color[]){{0, 0, 0}, {255, 255, 255}}, 2);
    png_set_rows(png, info, rows);
    png_write_png(png, info, PNG_TRANSFORM_IDENTITY, NULL);
    png_destroy_write_struct(&png, &info);
    assert_int_equal(fclose(f), 0);
}

static bool bar(int x, int y, int k)
{
    return y >= 4 && y < 24 && (x == 4 + 2 * k || x == 5 + 2 * k);
}

static bool large_bar(int x, int y, int k)
{
    return bar(x / 3, y / 3, k);
}

static bool ink_bar(int x, int y, int k)
{
    return !bar(x, y, k);
}

static bool wide_bar(int x, int y, int k) /* 56 x 28: the bars in the middle, as large as in 28 x 28 scaled by two */
{
    return bar(x / 2, y / 2 + 7, k);
}

/* ---- answers ---- */

/* The probabilities of the ten lines; they sum to 100 within what two decimals leave. Returns the digit it names. */
static int answer(const char *out, const char *path, double p[10])
{
    char head[64];
    int digit = -1, best = 0;
    double sum = 0;
    snprintf(head, sizeof head, "%s: %%d\n", path);
    const char *from = strstr(out, "pixels, ") || strstr(out, "pixels\n") ? strchr(out, '\n') + 1 : out;
    assert_int_equal(sscanf(from, head, &digit), 1);
    for (int i = 0; i < 10; i++) {
        int at;
        from = strchr(from, '\n') + 1;
        assert_int_equal(sscanf(from, " %d %lf %%", &at, &p[i]), 2);
        assert_int_equal(at, i);
        sum += p[i];
        best = p[i] > p[best] ? i : best;
    }
    assert_true(sum > 99.9 && sum < 100.1);
    assert_int_equal(digit, best);
    return digit;
}

static void png_of_every_kind(void **state)
{
    double p[10], first[10];
    (void)state;
    for (int k = 0; k < 10; k += 3)
        for (int i = 0; i < N_KINDS; i++) {
            write_png(&kinds[i], SIDE, SIDE, bar, k);
            run r = GOOD(TENON("predict", model, kinds[i].name));
            assert_int_equal(answer(r.out, kinds[i].name, p), k);
            CONTAINS_NOT(r.out, "pixels");
            CONTAINS_NOT(r.out, " \n");
            if (i == 0)
                memcpy(first, p, sizeof p);
            assert_memory_equal(p, first, sizeof p); /* the same picture, the same numbers */
        }
}

static void other_sizes_and_ink(void **state)
{
    double p[10], plain[10];
    (void)state;
    write_png(&kinds[0], SIDE, SIDE, bar, 4);
    answer(GOOD(TENON("predict", model, "grey8.png")).out, "grey8.png", plain);
    write_png(&kinds[0], 3 * SIDE, 3 * SIDE, large_bar, 4);
    run r = GOOD(TENON("predict", model, "grey8.png"));
    CONTAINS(r.out, "grey8.png: 84 x 84 pixels, scaled to 28 x 28\n");
    assert_int_equal(answer(r.out, "grey8.png", p), 4);
    assert_memory_equal(p, plain, sizeof p);
    write_png(&kinds[0], SIDE, SIDE, ink_bar, 4);
    r = GOOD(TENON("predict", model, "grey8.png"));
    CONTAINS(r.out, "grey8.png: 28 x 28 pixels, dark on light turned into light on dark\n");
    assert_int_equal(answer(r.out, "grey8.png", p), 4);
    assert_memory_equal(p, plain, sizeof p);
    write_png(&kinds[5], 56, 28, wide_bar, 4);
    r = GOOD(TENON("predict", model, "rgb.png"));
    CONTAINS(r.out, "rgb.png: 56 x 28 pixels, scaled to 28 x 28\n");
    assert_int_equal(answer(r.out, "rgb.png", p), 4);
    write_png(&kinds[0], 1, 1, bar, 0);
    answer(GOOD(TENON("predict", model, "grey8.png")).out, "grey8.png", p);
}

static void arrays(void **state)
{
    unsigned char pixel[3 * PIXELS];
    double p[10], again[10];
    (void)state;
    tn_scope *s = tn_scope_open();
    for (int k = 0; k < 3; k++)
        kit_bar(2 + 3 * k, pixel + k * PIXELS);
    tn_tensor *all = tn_tensor_from(TN_ARRAY(pixel), .shape = TN_SHAPE(3, SIDE, SIDE)), *bytes = tn_select(all, 0, 1);
    OK(tn_save_npy(bytes, "bytes.npy"));
    OK(tn_save_npy(tn_div(tn_reshape(bytes, TN_SHAPE(PIXELS)), 255), "flat.npy"));
    OK(tn_save_npy(tn_to(bytes, .dtype = TN_F64), "real.npy"));
    OK(tn_save_npy(all, "three.npy"));
    OK(tn_save_npy(tn_zeros(TN_SHAPE(5, 7)), "small.npy"));
    OK(tn_save_npy(tn_zeros(TN_SHAPE(0, SIDE, SIDE)), "none.npy"));
    tn_scope_close(s);
    assert_int_equal(answer(GOOD(TENON("predict", model, "bytes.npy")).out, "bytes.npy", p), 5);
    assert_int_equal(answer(GOOD(TENON("predict", model, "flat.npy")).out, "flat.npy", again), 5);
    assert_memory_equal(p, again, sizeof p);
    assert_int_equal(answer(GOOD(TENON("predict", model, "real.npy")).out, "real.npy", again), 5);
    assert_memory_equal(p, again, sizeof p);
    run r = GOOD(TENON("predict", model, "three.npy"));
    for (int k = 0; k < 3; k++) {
        char line[40];
        snprintf(line, sizeof line, "three.npy[%d]: %d (", k, 2 + 3 * k);
        CONTAINS(r.out, line);
    }
    ERROR_LINE(TENON("predict", model, "small.npy"), 1, "small.npy does not hold 28 x 28 images", "(28, 28), (784,)");
    ERROR_LINE(TENON("predict", model, "none.npy"), 1, "none.npy does not hold 28 x 28 images");
}

static void what_is_no_picture(void **state)
{
    size_t n;
    (void)state;
    write_png(&kinds[5], SIDE, SIDE, bar, 1);
    char *png = kit_read("rgb.png", &n);
    kit_write("cut.png", png, n / 2);
    png[n / 2] ^= 0x55;
    kit_write("damaged.png", png, n);
    free(png);
    ERROR_LINE(TENON("predict", model, "nowhere.png"), 1, "nowhere.png: No such file", "give a PNG or npy image");
    ERROR_LINE(TENON("predict", model, model), 1, "m.safetensors: Not a PNG file", "give a PNG or npy image");
    ERROR_LINE(TENON("predict", model, "digits"), 1, "digits: Is a directory", "give a PNG or npy image");
    ERROR_LINE(TENON("predict", model, "cut.png"), 1, "cut.png", "give a PNG or npy image");
    ERROR_LINE(TENON("predict", model, "damaged.png"), 1, "damaged.png", "give a PNG or npy image");
    ERROR_LINE(TENON("predict", model, "nowhere.npy"), 1, "nowhere.npy: No such file", "give a PNG or npy image");
    kit_write("text.npy", "no array", 8);
    ERROR_LINE(TENON("predict", model, "text.npy"), 1, "text.npy", "give a PNG or npy image");
    tn_scope *s = tn_scope_open();
    OK(tn_save_npy(MADE(tn_full(TN_SHAPE(28, 28), NAN)), "nan.npy"));
    tn_scope_close(s);
    run r = TENON("predict", model, "nan.npy");
    ERROR_LINE(r, 1, "m.safetensors gives no probabilities for nan.npy");
    assert_string_equal(r.out, "");
}

/* The sample picture is MNIST's first test image, a 7: one epoch is enough to see that. */
static void real_digits(void **state)
{
    double p[10];
    (void)state;
    if (!kit_exists(TENON_MNIST "/train-images-idx3-ubyte.gz")) {
        print_message("skipped: no MNIST in " TENON_MNIST "\n");
        skip();
    }
    GOOD(TENON("train", "--data", TENON_MNIST, "--epochs", "1", "--model", "linear", "--save", "real.safetensors"));
    run r = GOOD(TENON("eval", "real.safetensors", "--data", TENON_MNIST));
    CONTAINS(r.out, "of 10000 test images right");
    assert_true(strtod(strchr(r.out, ':') + 1, NULL) > 88); /* 90.5 to 91.5, whatever the seed */
    r = GOOD(TENON("predict", "real.safetensors", TENON_SOURCE "/examples/digit.png"));
    assert_int_equal(answer(r.out, TENON_SOURCE "/examples/digit.png", p), 7);
    /* the file is that image, pixel by pixel */
    tn_scope *s = tn_scope_open();
    tn_tensor *test = MADE(tn_load_idx(TENON_MNIST "/t10k-images-idx3-ubyte.gz"));
    unsigned char pixel[PIXELS];
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&image, TENON_SOURCE "/examples/digit.png"));
    assert_true(image.width == SIDE && image.height == SIDE);
    image.format = PNG_FORMAT_GRAY;
    assert_true(png_image_finish_read(&image, NULL, pixel, 0, NULL));
    assert_memory_equal(pixel, tn_data(test), PIXELS);
    tn_scope_close(s);
}

static int setup(void **state)
{
    int status = kit_setup(state);
    if (status)
        return status;
    return TENON("train", "--data", "digits", "--epochs", "2", "--batch", "20", "--save", model).status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(png_of_every_kind),  cmocka_unit_test(other_sizes_and_ink), cmocka_unit_test(arrays),
        cmocka_unit_test(what_is_no_picture), cmocka_unit_test(real_digits),
    };
    return cmocka_run_group_tests_name("cli/predict", tests, setup, kit_teardown);
}
