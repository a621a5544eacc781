/* tenon predict: names the digit in an image, with probabilities. */
#include "cli.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIDE = 28, CLASSES = 10 };

/* Grey pixels of a picture of any size, 0 .. 255. */
typedef struct picture {
    int width, height;
    unsigned char *pixel;
} picture;

static const char advice[] = "give a PNG or npy image of a digit";

/* NULL with errno set. A pipe is read ('tenon predict MODEL <(...)'), but nobody waits for one that no writer has open. */
static FILE *open_picture(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *f = NULL;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        errno = EISDIR;
    else if (fd >= 0 && fcntl(fd, F_SETFL, 0) == 0)
        f = fdopen(fd, "rb");
    if (fd >= 0 && !f)
        close(fd);
    return f;
}

static int read_picture(FILE *f, const char *path, picture *p)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_stdio(&image, f))
        return cli_error(CLI_FAILED, "%s: %s; %s", path, image.message, advice);
    image.format = PNG_FORMAT_GRAY;
    if (image.width > 4096 || image.height > 4096) {
        png_image_free(&image);
        return cli_error(CLI_FAILED, "%s is %u x %u pixels; give one of at most 4096 x 4096", path, image.width,
                         image.height);
    }
    png_color white = {255, 255, 255}; /* behind transparent pixels */
    p->pixel = malloc(PNG_IMAGE_SIZE(image));
    p->width = (int)image.width;
    p->height = (int)image.height;
    if (!p->pixel || !png_image_finish_read(&image, &white, p->pixel, 0, NULL)) {
        int status = cli_error(CLI_FAILED, "%s: %s; %s", path, p->pixel ? image.message : "too little memory", advice);
        free(p->pixel);
        png_image_free(&image);
        return status;
    }
    return 0;
}

static int read_png(const char *path, picture *p)
{
    FILE *f = open_picture(path);
    if (!f)
        return cli_error(CLI_FAILED, "%s: %s; %s", path, strerror(errno), advice);
    int status = read_picture(f, path, p);
    fclose(f);
    return status;
}

/* The mean grey of a rectangle with fractional borders. */
static double area(const picture *p, double x0, double y0, double x1, double y1)
{
    double sum = 0, weight = 0;
    for (int y = (int)y0; y < p->height && y < y1; y++)
        for (int x = (int)x0; x < p->width && x < x1; x++) {
            double w = (fmin(x + 1, x1) - fmax(x, x0)) * (fmin(y + 1, y1) - fmax(y, y0));
            sum += w * p->pixel[y * p->width + x];
            weight += w;
        }
    return weight > 0 ? sum / weight : 0;
}

/* A light background means dark ink: MNIST's digits are light on dark. */
static bool invert_if_light(picture *p)
{
    long border = 0, count = 0;
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++)
            if (x == 0 || y == 0 || x == p->width - 1 || y == p->height - 1) {
                border += p->pixel[y * p->width + x];
                count++;
            }
    if (border <= 127 * count)
        return false;
    for (int i = 0; i < p->width * p->height; i++)
        p->pixel[i] = (unsigned char)(255 - p->pixel[i]);
    return true;
}

/* 28 x 28, the longer side scaled to fit, the rest dark. */
static void scale_to_digit(const picture *p, unsigned char out[SIDE * SIDE])
{
    double scale = fmax(p->width, p->height) / (double)SIDE;
    double left = (SIDE - p->width / scale) / 2, top = (SIDE - p->height / scale) / 2;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            double x0 = (x - left) * scale, y0 = (y - top) * scale;
            bool inside = x0 + scale > 0 && y0 + scale > 0 && x0 < p->width && y0 < p->height;
            out[y * SIDE + x] =
                (unsigned char)(inside ? area(p, fmax(x0, 0), fmax(y0, 0), x0 + scale, y0 + scale) + 0.5 : 0);
        }
}

static tn_tensor *from_png(const char *path)
{
    picture p = {0, 0, NULL};
    unsigned char pixel[SIDE * SIDE];
    if (read_png(path, &p))
        return NULL;
    bool resized = p.width != SIDE || p.height != SIDE, inverted = invert_if_light(&p);
    scale_to_digit(&p, pixel);
    if (resized || inverted)
        printf("%s: %d x %d pixels%s%s\n", path, p.width, p.height, resized ? ", scaled to 28 x 28" : "",
               inverted ? ", dark on light turned into light on dark" : "");
    free(p.pixel);
    tn_tensor *t = tn_tensor_from(TN_ARRAY(pixel), .shape = TN_SHAPE(1, SIDE, SIDE));
    if (!t)
        cli_library_error("");
    return t;
}

/* [28, 28], [784], or several of them; bytes, or numbers in 0 .. 1. */
static tn_tensor *from_npy(const char *path)
{
    tn_tensor *t = tn_load_npy(path);
    if (!t) {
        cli_library_error(advice);
        return NULL;
    }
    if (tn_tensor_numel(t) == 0 || tn_tensor_numel(t) % (SIDE * SIDE) != 0 ||
        tn_tensor_size(t, -1) != (tn_tensor_ndim(t) >= 2 && tn_tensor_size(t, -2) == SIDE ? SIDE : SIDE * SIDE)) {
        cli_error(CLI_FAILED, "%s does not hold 28 x 28 images: give an array of shape (28, 28), (784,) or (n, 28, 28)",
                  path);
        return NULL;
    }
    tn_tensor *x = tn_reshape(tn_to(t, .dtype = TN_F32), TN_SHAPE(-1, SIDE, SIDE));
    if (x && (tn_tensor_dtype(t) == TN_U8 || tn_item(tn_max(x)) > 1.5)) /* 0 .. 255 */
        x = tn_mul(x, 1.0 / 255);
    if (!x)
        cli_library_error("");
    return x;
}

static void print_one(const tn_tensor *p, int64_t row, const char *path, int64_t rows)
{
    double value[CLASSES];
    int best = 0;
    for (int i = 0; i < CLASSES; i++) {
        value[i] = tn_item(tn_select(tn_select((tn_tensor *)(uintptr_t)p, 0, row), 0, i));
        best = value[i] > value[best] ? i : best;
    }
    if (rows > 1)
        printf("%s[%lld]: %d (%.2f %%)\n", path, (long long)row, best, 100 * value[best]);
    if (rows > 1)
        return;
    printf("%s: %d\n", path, best);
    for (int i = 0; i < CLASSES; i++) {
        static const char bar[] = "########################################";
        int n = (int)(40 * value[i] + 0.5);
        printf("  %d  %6.2f %%%s%.*s\n", i, 100 * value[i], n ? "  " : "", n, bar);
    }
}

static int run(const char *model, const char *path, const devices *on)
{
    tn_module *net = digits_load(model, NULL, NULL);
    if (!net)
        return CLI_FAILED;
    size_t n = strlen(path);
    tn_tensor *x = n > 4 && !strcmp(path + n - 4, ".npy") ? from_npy(path) : from_png(path);
    if (!x)
        return CLI_FAILED;
    (void)tn_set_grad_enabled(false);
    net = devices_parallelize(on, tn_module_eval(net));
    tn_tensor *p = tn_cpu(tn_softmax(tn_forward(net, digits_input(tn_to(x, .device = on->d[0]))), 1));
    if (!p)
        return cli_library_error("");
    if (tn_item(tn_sum(tn_isnan(p))) != 0)
        return cli_error(CLI_FAILED, "%s gives no probabilities for %s: its weights or the pixels are not all numbers",
                         model, path);
    for (int64_t i = 0; i < tn_tensor_size(p, 0); i++)
        print_one(p, i, path, tn_tensor_size(p, 0));
    return CLI_OK;
}

int cmd_predict(int argc, char **argv)
{
    const char *device_text = "cpu", *paths[2] = {NULL, NULL};
    const option options[] = {{"device", OPT_TEXT, &device_text, 0, 0, "DEVICE", devices_help}};
    const command c = {"predict",
                       "MODEL.safetensors IMAGE.png|IMAGE.npy [--device DEVICE]",
                       "Names the digit in an image, with the probability of each.",
                       options,
                       1,
                       2,
                       2};
    devices on;
    int status = cli_parse(&c, argc, argv, paths, NULL);
    if (status >= 0 || (status = devices_read(device_text, &on)) != 0)
        return status;
    tn_scope *s = tn_scope_open();
    status = run(paths[0], paths[1], &on);
    tn_scope_close(s);
    return status;
}
