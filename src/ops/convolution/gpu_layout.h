/* ops/convolution/gpu_layout.h: sizes and strides of a convolution: the argument of kernels, in the dialect's types. gpu.c and
 * convolution.k include this text. */
typedef struct conv_line {
    i64 x_stride, y_stride, w_stride;
    i32 x, y, taps, stride, pad, dilation;
} conv_line;

typedef struct conv_shape {
    conv_line d[3];
    i64 x_image, x_channel, y_image, y_channel, w_out, w_in, bias_stride;
    i64 parts;                   /* of a sum over images and places */
    i32 images, groups, in, out; /* channels of a group */
} conv_shape;
