#!/usr/bin/perl
# What the compiler says of wrong calls.   wrong_calls.pl SOURCE-FOLDER BUILD-FOLDER COMPILER...
# Of every macro of the public headers that takes options by name (the list is theirs): a right call compiles without a warning in
# each mode of C, with the option that the macro's own text names; options without a name, and names where none belong, are errors
# that show how it is written. @OTHERS, below, are further wrong calls. One compiler run for all right calls in a mode, and one
# for all wrong ones. One line 'ok WHAT' a check, a count at the end; 1 if one failed.
use strict;
use warnings;
use File::Temp qw(tempdir);

my ($source, $build, @compilers) = @ARGV;
my $work = tempdir(CLEANUP => 1);
my ($checks, $failed) = (0, 0);

sub check {
    my ($what, $holds, @why) = @_;
    $checks++;
    $failed++ if !$holds;
    print $holds ? "ok $what\n" : "FAILED $what\n", map { "    $_\n" } $holds ? () : @why;
}

# ---- the list: name, parameters before the options, example ----
my (%type, %declared, @macros);
my $text = '';
for my $file (glob("$source/include/tenon/*.h"), "$build/src/generated/include/tenon/ops.h") {
    open my $in, '<', $file or die "$file: $!\n";
    local $/;
    $text .= <$in>;
}
$text =~ s/\\\n\s*//g;
while ($text =~ /\b(tn_\w+)_opt\(([^()]*?)const tn_\w+ \*options\)/g) {
    my ($name, $before) = ($1, $2);
    $declared{$name} = [map { s/^\s+|\s*\w+$//gr =~ s/\s+/ /gr } grep { /\S/ } split /,/, $before];
}
while ($text =~ /^#define (tn_(\w+))\(\.\.\.\)\s+(.*)$/mg) {
    my ($name, $short, $body) = ($1, $2, $3);
    $body = $1 if $text =~ /^#define TN__X_$short\([^()]*?\.\.\.\)\s+(.*)$/m;
    next if $body !~ /TN__OPTIONS\((.*?), (tn_\w+_opt), *((?:"[^"]*" *)+), *"((?:[^"\\]|\\.)*)"\)/;
    my ($holds, $function, $call, $example) = ($1, $2, $3, $4);
    my %bare = map { $_ => 1 } $holds =~ /TN__BARE\(#(\w+)\)/g;
    my ($names) = $text =~ /^#define (?:TN__X_\w+|\Q$name\E)\(([^()]*?)\.\.\.\)[^\n]*\Q$function\E,/m;
    my @names = split /, */, $names;
    push @macros, {name => $name, types => $declared{$name}, example => $example =~ s/\\"/"/gr,
                   last_is_bare => @names && $bare{$names[-1]} && $name ne 'tn_arange'};
}
check('there are macros with options: ' . @macros, @macros > 100);
my %seen = map { $_->{name} => 1 } @macros;
check('each function with options has its macro', !(grep { !$seen{$_} } keys %declared), grep { !$seen{$_} } keys %declared);

my %value = ('tn_tensor *' => 'x', 'tn_scalar' => 'x', 'const tn_dims *' => 'TN_SHAPE(2, 1)', 'tn_ints' => 'TN_INTS(1, 2)', 'tn_tensors' => 'TN_TENSORS(x, x)',
             'int64_t' => '1', 'size_t' => '1', 'double' => '0.5', 'bool' => 'true', 'tn_dtype' => 'TN_F32', 'tn_array' => 'TN_LIST(1, 2)',
             'tn_params' => 'm', 'tn_device' => 'TN_CPU', 'tn_device_list' => 'TN_DEVICES(TN_CPU)');
sub arguments {
    return map { $value{$_} // 'NULL' } @{$_[0]{types}};
}

# ---- other wrong calls: code, what is said ----
my @OTHERS = (
    ['tn_sum(x, .dims = 1)', qr/error: .*"tn_sum\(x, \.dim, \.dims,/],
    ['tn_sum(x, .keepdim = true, .dims=0)', qr/error: .*"tn_sum\(x, \.dim, \.dims,/],
    ['tn_sum(x, .dims = -1)', qr/error: .*"tn_sum\(x, \.dim, \.dims,/],
    ['tn_sum(x, .dims = n)', qr/(?:error|warning): .*tn__TN_DIMS/],
    ['tn_sum(x, .dim = TN_DIMS(1))', qr/error: .*incompatible type/],
    ['tn_argmax(x, .dims = TN_DIMS(1))', qr/error: .*(?:has no member named|does not refer to any field)/],
    ['tn_zeros(5)', qr/error: .*"tn_zeros\(shape,|error: .*tn__a_list_is_wanted__as_TN_SHAPE_or_TN_DIMS/],
    ['tn_zeros(0)', qr/error: .*tn__a_list_is_wanted__as_TN_SHAPE_or_TN_DIMS/],
    ['tn_reshape(x, n)', qr/error: .*tn__a_list_is_wanted__as_TN_SHAPE_or_TN_DIMS/],
    ['tn_pad(x, TN_DIMS(1, 1))', qr/error: .*(?:tn_ints|argument 2 of .+tn_pad_opt)/],
    ['tn_leaky_relu(x, .negative_slope = 0.2)', qr/error: .*"tn_leaky_relu\(.*as \.negative_slope = TN_SCALAR\(2\)/],
    ['tn_leaky_relu(x, .negative_slope = 0)', qr/error: .*"tn_leaky_relu\(.*as \.negative_slope = TN_SCALAR\(2\)/],
    ['tn_leaky_relu(x, .negative_slope = *pointer)', qr/error: /],
    ['tn_nn_flatten(.start_dim = 0)', qr/error: .*"tn_nn_flatten\(/],
    ['tn_zeros(TN_SHAPE(1, 2, 3, 4, 5, 6, 7, 8, 9))', qr/error: .*tn__up_to_8_dimensions__longer_lists_are_TN_INTS/],
    ['tn_arange(6, .dtype = TN_F32)', qr/error: .*"tn_arange\(start, end, step, .dtype.*: options are named/],
    ['tn_arange(0, 6, .dtype = TN_F32)', qr/error: .*"tn_arange\(start, end, step, .dtype.*: options are named/],
    ['tn_arange(0, 6, 1, TN_F32)', qr/error: .*"tn_arange\(start, end, step, .dtype.*: options are named/],
    ['tn_cuda(x, 1, 2)', qr/error: .*"tn_cuda\(t\) or tn_cuda\(t, index\)"/],
    ['tn_module_cuda(m, 1, 2)', qr/error: .*"tn_module_cuda\(m\) or tn_module_cuda\(m, index\)"/],
    ['tn_add(x, "1")', qr/error: .*(?:a_number_or_a_tensor_is_wanted|tn__number_or_tensor)/],
    ['tn_add(x, m)', qr/error: .*(?:a_number_or_a_tensor_is_wanted|tn__number_or_tensor)/],
    ['tn_add(NULL, x)', qr/error: .*(?:a_number_or_a_tensor_is_wanted|tn__number_or_tensor)/],
    ['tn_tensor_from(TN_LIST(' . join(', ', 1 .. 33) . '))', qr/error: .*"TN_LIST takes up to 32 numbers; .*TN_ARRAY/],
    ['tn_tensor_from(TN_LIST(' . join(', ', 1 .. 99) . '))', qr/error: .*"TN_LIST takes up to 32 numbers; .*TN_ARRAY/],
    ['tn_tensor_from(TN_ARRAY(pointer))', qr/error: .*"TN_ARRAY takes an array, .*for a pointer, write/],
);

my $head = <<'END';
#include <tenon/tenon.h>
void user(tn_tensor *x, tn_module *m, tn_team_step *step, int64_t n, double *pointer);
void user(tn_tensor *x, tn_module *m, tn_team_step *step, int64_t n, double *pointer)
{
    (void)x, (void)m, (void)step, (void)n, (void)pointer;
END

sub compile {
    my ($code, $command) = @_;
    open my $out, '>', "$work/user.c" or die;
    print $out $code;
    close $out or die;
    my $said = qx{$command -I$source/include -I$build/src/generated/include -fsyntax-only $work/user.c 2>&1};
    return ($?, $said);
}

for my $cc (@compilers) {
    next if system("$cc --version >/dev/null 2>&1");
    # right
    my $right = $head;
    for my $macro (@macros) {
        my @arguments = arguments($macro);
        $right .= "    (void)!$macro->{name}(" . join(', ', @arguments) . ");\n";
        $right .= "    (void)!$macro->{name}(" . join(', ', @arguments, $macro->{example}) . ");\n";
    }
    $right .= <<'END';
#define MINE .keepdim = true, .dtype = TN_F32
    (void)tn_sum(tn_mul(x, 2), MINE);
    (void)tn_mean(x, MINE, .dim = 1);
    (void)tn_mean(tn_sum(x, .dim = n), .dims = TN_DIMS(0, 1), .keepdim = true);
    tn_dims kept = TN_SHAPE();
    {
        kept = TN_SHAPE(n, n + 1);
    }
    (void)tn_reshape(tn_zeros(kept), n > 2 ? kept : tn_tensor_shape(x));
    (void)tn_pad(x, TN_INTS(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
    tn_device two[] = {TN_CPU, TN_META};
    (void)tn_nn_data_parallel(m, .device_ids = {two, 2}, .dim = 1);
    (void)tn_add(tn_arange(6), tn_add(tn_arange(1, 6), tn_arange(0, 6, 1, .dtype = TN_F32)));
    double numbers[33] = {0};
    const float single[] = {1};
    (void)tn_tensor_from(TN_ARRAY(numbers), .shape = TN_SHAPE(3, 11));
    (void)tn_tensor_from(TN_ARRAY(single));
    (void)tn_tensor_from(TN_LIST(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32));
    (void)tn_cuda(tn_cuda(x), 1);
    (void)tn_module_cuda(tn_module_cuda(m, 1));
    size_t chunks;
    (void)!tn_parallel_scatter(x, TN_DEVICES(TN_CPU), NULL, &chunks, .sizes = (int64_t[]){1, 2, 3, 4, 5});
    (void)tn_bernoulli(x, .p = TN_SCALAR(.5));
    (void)tn_full(TN_SHAPE(2), .5, .dtype=TN_F64);
    (void)tn_cross_entropy(x, x, .weight = tn_softmax(tn_sum(tn_add(x, tn_mul(x, tn_add(x, 1))), .keepdim = true), -1));
}
END
    for my $mode ('c11', 'gnu11', 'gnu17', 'c2x', 'gnu2x') {
        my ($status, $said) = compile($right, "$cc -std=$mode -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Werror");
        check("$cc -std=$mode: right calls", $status == 0, (split /\n/, $said)[0 .. 9]);
    }
    # wrong
    my ($wrong, $line, @expected) = ($head, 5);
    my $case = sub {
        my ($code, $says) = @_;
        $wrong .= "    $code;\n";
        push @expected, [++$line, $code, $says];
    };
    for my $macro (@macros) {
        my @arguments = arguments($macro);
        my $example = $macro->{example} =~ s/"/\\"/gr;
        my $says = qr/error: .*"\Q$macro->{name}(\E.*: options are named, as \Q$example\E/;
        for my $more (['1'], ['.5'], ['x'], ['-n'], [$macro->{example}, '1'], [$macro->{example}, '(int[]){1, 2}', 'n']) {
            $case->("$macro->{name}(" . join(', ', @arguments, @$more) . ')', $says);
        }
        next if !$macro->{last_is_bare};
        pop @arguments;
        $case->("$macro->{name}(" . join(', ', @arguments, '.name = 1') . ')', $says);
        $case->("$macro->{name}(" . join(', ', @arguments) . ')', $says);
    }
    $case->(@$_) for @OTHERS;
    my $flags = qx{$cc --version} =~ /clang/ ? '-ferror-limit=0 -fno-caret-diagnostics' : '-ftrack-macro-expansion=0';
    my ($status, $said) = compile("$wrong}\n", "$cc $flags");
    my %said;
    $said{$1} .= "$2\n" while $said =~ /user\.c:(\d+):\d+: (.*)/g;
    my @silent = grep { ($said{$_->[0]} // '') !~ $_->[2] } @expected;
    check("$cc: wrong calls that are errors with a text: " . @expected, $status && !@silent,
          map { "$_->[1]: " . ($said{$_->[0]} // "nothing\n") } @silent[0 .. ($#silent > 9 ? 9 : $#silent)]);
}
print "$checks checks, $failed failed\n";
exit($failed ? 1 : 0);
