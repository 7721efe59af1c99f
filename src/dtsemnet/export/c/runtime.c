/*
 * The code of every tree that dtsemnet.export.to_c writes; an exported file is this file plus the tables of one tree.
 *
 * to_c inserts generated text in place of the three quoted includes, keeps the branches that the switches below
 * select, and renames whole identifiers: the prefix tree_ becomes the name that the caller chose, and the type
 * real becomes double or float. This comment is left out. The tests also compile this file as it is, with the
 * generated text in the included files and the switches as -D options.
 *
 * Switches, 0 or 1:
 *   TREE_FLOAT            numbers are float, else double
 *   TREE_CLASSIFIER       leaves hold classes, else numbers
 *   TREE_MARGINS          probabilities are computed from margins, else they are the shares of the leaf
 *   TREE_ENCODED          a row is encoded before the tree reads it, else read as it is
 *   TREE_FILLED           encoding only fills in missing numbers, in all columns
 *   TREE_TEXTS            a column has categories that are text
 *   TREE_NUMBERS          a column has categories that are numbers
 *   TREE_SPLITS           the tree has a split, else it is one leaf
 *   TREE_SPARSE_SPLITS    weights of splits are lists of their non-zeros, else a matrix
 *   TREE_LINEAR           leaves of a regressor are linear models, else constants
 *   TREE_SPARSE_LEAVES    their coefficients are lists of the non-zeros, else a matrix
 *   TREE_GUARDED          linear models are clipped to the bounds of their leaf
 *   TREE_SUMS             there are splits or linear models, else nothing is summed
 *   TREE_TANH             outputs are mapped by low + (tanh(v) + 1) / 2 * (high - low)
 */
#ifndef tree_H
#define tree_H
#ifdef __cplusplus
extern "C" {
#endif

#include "names.h"
#if TREE_CLASSIFIER
extern const char *const tree_class_names[tree_CLASSES];
#endif

/* Returns the number of the leaf, counted from left to right. */
int tree_apply(const real *row);

#if TREE_CLASSIFIER
/* Returns the number of the class, as in enum tree_class. */
int tree_predict_class(const real *row);

/* Writes tree_CLASSES probabilities; returns the number of the leaf. */
int tree_predict_proba(const real *row, real *out);
#else
/* Writes tree_OUTPUTS numbers; returns the number of the leaf. */
int tree_predict(const real *row, real *out);
#endif

/* Returns 0 if this program computes as the tree does, -1 if options of the compiler or the state of the processor
   change its arithmetic. Call it once, at the start. */
int tree_selftest(void);

#ifdef __cplusplus
}
#endif
#endif

#ifndef tree_PROTOTYPES
#include <float.h>
#include <math.h>

#ifndef DTSEMNET_FLASH
#define DTSEMNET_FLASH
#endif

/* A score is short and its loops have known lengths; compilers that call it instead make a tree up to twice as slow. */
#if defined(__GNUC__)
#define DTSEMNET_INLINE static inline __attribute__((always_inline))
#else
#define DTSEMNET_INLINE static
#endif

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \
    defined(__NO_SIGNED_ZEROS__) || defined(_M_FP_FAST) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "fast-math computes another function than the tree; compile this file without it, and without parts of it"
#endif
#if defined(__clang__)
/* clang defines nothing for parts of fast-math, but lets a file take them back. */
#pragma float_control(push)
#pragma float_control(precise, on)
#define DTSEMNET_POP_CONTROL
#endif
#if !TREE_FLOAT
#if DBL_MANT_DIG != 53
#error "double is not a 64-bit IEEE number here; export with number='float'"
#endif
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 1
#error "sums are kept in wider registers here; compile with -msse2 -mfpmath=sse"
#endif
/* A product and a sum are rounded separately, never fused into one operation. Versions of gcc that define nothing for
   parts of fast-math take them back here. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off", "no-unsafe-math-optimizations", "no-associative-math")
#define DTSEMNET_POP_OPTIONS
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#else
#pragma STDC FP_CONTRACT OFF
#endif
#endif

#include "tables.h"

#if TREE_TEXTS
/* Find a text among the known ones from start to end; returns its distance from start, -1 if it is not there. */
static int tree_find_text(int start, int end, const char *text)
{
    int k, i;
    for (k = start; k < end; ++k) {
        for (i = 0; text[i] != 0 && text[i] == tree_known_texts[k][i]; ++i)
            ;
        if (text[i] == tree_known_texts[k][i])
            return k - start;
    }
    return -1;
}

#endif
#if TREE_NUMBERS
/* Find a number among the known ones from start to end; returns its distance from start, -1 if it is not there. */
static int tree_find_number(int start, int end, double number)
{
    int k;
    for (k = start; k < end; ++k)
        if (tree_known_numbers[k] == number)
            return k - start;
    return -1;
}

#endif
#include "lookups.h"
#if TREE_ENCODED
enum { tree_ROOM = tree_FEATURES };

#if TREE_FILLED
/* Fill in the missing numbers of a row in x; returns x, or 0 if the row is refused. */
static const real *tree_encode(const real *row, real *x)
{
    int c;
    for (c = 0; c < tree_COLUMNS; ++c) {
        x[c] = row[c] != row[c] ? tree_fill[c] : row[c];
        if (!(x[c] - x[c] == 0))
            return 0;
    }
    return x;
}
#else
/* Turn a row into the features that the tree reads, in x; returns x, or 0 if the row is refused. tree_missing is 0 for
   columns that know no missing values, 1 for those that mark them by a feature, 2 for those that only fill them in. */
static const real *tree_encode(const real *row, real *x)
{
    int c, k, j = 0;
    for (c = 0; c < tree_COLUMNS; ++c) {
        const int missing = row[c] != row[c], categories = tree_categories[c];
        if (categories >= 0) {
            const real code = missing && tree_missing[c] == 2 ? tree_fill[c] : row[c];
            for (k = 0; k < categories; ++k)
                x[j++] = (real)(code == (real)k);
        } else {
            real number = missing ? tree_fill[c] : row[c];
            if ((missing && !tree_missing[c]) || !(number - number == 0))
                return 0;
            number = (number - tree_center[c]) * tree_scale[c];
            if (number < tree_lowest[c])
                number = tree_lowest[c];
            if (number > tree_highest[c])
                number = tree_highest[c];
            if (!(number - number == 0))
                return 0;
            x[j++] = number;
        }
        if (tree_missing[c] == 1)
            x[j++] = (real)missing;
    }
    return x;
}
#endif

#else
enum { tree_ROOM = 1 };

/* The tree reads rows as they are. */
static const real *tree_encode(const real *row, real *x)
{
    (void)x;
    return row;
}

#endif
/* Whether all features are finite. */
static int tree_finite(const real *x)
{
    int j;
    for (j = 0; j < tree_FEATURES; ++j)
        if (!(x[j] - x[j] == 0))
            return 0;
    return 1;
}

#if TREE_SPLITS
/* The score of a split: weight times x, plus bias. tree_LANES partial sums, joined by halves: this order of summation
   is part of the tree. */
DTSEMNET_INLINE real tree_score(int split, const real *x)
{
    real sum[tree_LANES] = { 0 };
    int j, k;
#if TREE_SPARSE_SPLITS
    long i;
    for (i = tree_weight_start[split]; i < tree_weight_start[split + 1]; ++i)
        sum[tree_weight_feature[i] % tree_LANES] += tree_weight[i] * x[tree_weight_feature[i]];
#else
    const long start = (long)split * tree_FEATURES;
    for (j = 0; j + tree_LANES <= tree_FEATURES; j += tree_LANES)
        for (k = 0; k < tree_LANES; ++k)
            sum[k] += tree_weight[start + j + k] * x[j + k];
    for (k = 0; j + k < tree_FEATURES; ++k)
        sum[k] += tree_weight[start + j + k] * x[j + k];
#endif
    for (j = tree_LANES / 2; j > 0; j /= 2)
        for (k = 0; k < j; ++k)
            sum[k] += sum[k + j];
    return sum[0] + tree_bias[split];
}

#endif
/* The leaf that the features reach; -1 if they are refused, or were by tree_encode. */
static int tree_leaf(const real *x)
{
#if TREE_SPLITS
    int node = 0;
#endif
    if (!x)
        return -1;
#if TREE_SPLITS
#if TREE_SPARSE_SPLITS
#if !TREE_ENCODED
    /* The scores leave features out, so an infinite one could go unnoticed. */
    if (!tree_finite(x))
        return -1;
#endif
#endif
    while (node >= 0) {
        const real score = tree_score(node, x);
        /* An infinite score of finite features routes by its sign; infinite features are refused. */
        if (!(score - score == 0) && (score != score || !tree_finite(x)))
            return -1;
        node = tree_children[2 * node + (score > 0)];
    }
    return -1 - node;
#else
    return tree_finite(x) ? 0 : -1;
#endif
}

int tree_apply(const real *row)
{
    real room[tree_ROOM];
    return tree_leaf(tree_encode(row, room));
}

#if TREE_CLASSIFIER
int tree_predict_class(const real *row)
{
    const int leaf = tree_apply(row);
    return leaf < 0 ? -1 : tree_leaf_class[leaf];
}

#if TREE_MARGINS
/* Write the least sum of margins that must turn before the features are in each class, -1 if no leaf has the class;
   returns -1 if they are refused. */
static int tree_margins(const real *x, real *margin)
{
    int k;
#if TREE_SPLITS
    real above[tree_LEAVES]; /* sum of the margins violated on the way to each split */
    int split, side;
    above[0] = 0;
#endif
    for (k = 0; k < tree_CLASSES; ++k)
        margin[k] = -1;
#if TREE_SPLITS
    for (split = 0; split < tree_LEAVES - 1; ++split) {
        const real score = tree_score(split, x);
        if (score != score)
            return -1;
        for (side = 0; side < 2; ++side) {
            const int child = tree_children[2 * split + side];
            const real violated = side ? -score : score;
            const real sum = above[split] + (violated > 0 ? violated : 0);
            if (child >= 0) {
                above[child] = sum;
                continue;
            }
            k = tree_leaf_class[-1 - child];
            if (margin[k] < 0 || sum < margin[k])
                margin[k] = sum;
        }
    }
#else
    margin[tree_leaf_class[0]] = 0;
    (void)x;
#endif
    return 0;
}

int tree_predict_proba(const real *row, real *out)
{
    real room[tree_ROOM];
    const real *const x = tree_encode(row, room);
    const int leaf = tree_leaf(x);
    real largest = 0, total = 0;
    int k;
    if (leaf < 0 || tree_margins(x, out) < 0)
        return -1;
    for (k = 0; k < tree_CLASSES; ++k)
        if (out[k] > largest)
            largest = out[k];
    for (k = 0; k < tree_CLASSES; ++k) {
        const real margin = out[k] < 0 ? largest : out[k];
        const real penalty = tree_rate[0] > 0 ? tree_rate[0] * margin : 0;
        const real exponent = tree_leaf_log[leaf * tree_CLASSES + k] - penalty;
#if TREE_FLOAT
        out[k] = expf(exponent > -87 ? exponent : -87);
#else
        out[k] = exp(exponent > -700 ? exponent : -700);
#endif
        total += out[k];
    }
    for (k = 0; k < tree_CLASSES; ++k)
        out[k] /= total;
    return leaf;
}
#else
int tree_predict_proba(const real *row, real *out)
{
    const int leaf = tree_apply(row);
    int k;
    for (k = 0; leaf >= 0 && k < tree_CLASSES; ++k)
        out[k] = tree_value[leaf * tree_CLASSES + k];
    return leaf;
}
#endif
#else
#if TREE_LINEAR
/* An output of a linear leaf: coefficients times x, plus the constant; summed in the same order as a score. */
DTSEMNET_INLINE real tree_linear(int output, const real *x)
{
    real sum[tree_LANES] = { 0 };
    int j, k;
#if TREE_SPARSE_LEAVES
    long i;
    for (i = tree_coef_start[output]; i < tree_coef_start[output + 1]; ++i)
        sum[tree_coef_feature[i] % tree_LANES] += tree_coef[i] * x[tree_coef_feature[i]];
#else
    const long start = (long)output * tree_FEATURES;
    for (j = 0; j + tree_LANES <= tree_FEATURES; j += tree_LANES)
        for (k = 0; k < tree_LANES; ++k)
            sum[k] += tree_coef[start + j + k] * x[j + k];
    for (k = 0; j + k < tree_FEATURES; ++k)
        sum[k] += tree_coef[start + j + k] * x[j + k];
#endif
    for (j = tree_LANES / 2; j > 0; j /= 2)
        for (k = 0; k < j; ++k)
            sum[k] += sum[k + j];
    return sum[0] + tree_value[output];
}

#endif
int tree_predict(const real *row, real *out)
{
#if TREE_LINEAR
    real room[tree_ROOM];
    const real *const x = tree_encode(row, room);
    const int leaf = tree_leaf(x);
#else
    const int leaf = tree_apply(row);
#endif
    int o;
    for (o = 0; leaf >= 0 && o < tree_OUTPUTS; ++o) {
        const int k = leaf * tree_OUTPUTS + o;
#if TREE_LINEAR
        real output = tree_linear(k, x);
        if (output != output)
            return -1;
#if TREE_GUARDED
        if (output < tree_lower[k])
            output = tree_lower[k];
        if (output > tree_upper[k])
            output = tree_upper[k];
#endif
#else
        real output = tree_value[k];
#endif
#if TREE_TANH
#if TREE_FLOAT
        output = tree_low[o] + (tanhf(output) + 1) / 2 * (tree_high[o] - tree_low[o]);
#else
        output = tree_low[o] + (tanh(output) + 1) / 2 * (tree_high[o] - tree_low[o]);
#endif
#endif
        out[o] = output;
    }
    return leaf;
}
#endif

/* Write the features of a test row: numbers of 52 bits, mixed from their places, times powers of two, so that nothing is
   rounded on the way. */
static void tree_test_row(int test, real *x)
{
    unsigned long state = (unsigned long)test;
    double high, low;
    int j;
    for (j = 0; j < tree_FEATURES; ++j) {
        state = (state * 1664525ul + 1013904223ul) & 0xfffffffful;
        high = (double)(state >> 6) - 33554432.0;
        state = (state * 1664525ul + 1013904223ul) & 0xfffffffful;
        low = (double)(state >> 6);
        x[j] = (real)(high * 67108864.0 + low) * tree_test_scale[j];
    }
}

#if TREE_SUMS
/* Whether a sum is what the tree computed when this file was written. */
static int tree_as_written(real sum, real written)
{
    return sum - written <= tree_test_rounding[0] && written - sum <= tree_test_rounding[0];
}

#endif
int tree_selftest(void)
{
    volatile real zero = 0;
    real x[tree_FEATURES];
    int test;
#if TREE_SUMS
    int k;
#endif
#if !TREE_FLOAT
    volatile real least = DBL_MIN, half = least / 2;
    if (!(half > 0) || half * 2 != least) /* numbers below the normal range are taken for 0 */
        return -1;
#endif
    for (test = 0; test < tree_TESTS; ++test) {
        tree_test_row(test, x);
#if TREE_SPLITS
        for (k = 0; k < tree_LEAVES - 1; ++k)
            if (!tree_as_written(tree_score(k, x), tree_test_score[test * (tree_LEAVES - 1) + k]))
                return -1;
#endif
#if TREE_LINEAR
        for (k = 0; k < tree_LEAVES * tree_OUTPUTS; ++k)
            if (!tree_as_written(tree_linear(k, x), tree_test_output[test * tree_LEAVES * tree_OUTPUTS + k]))
                return -1;
#endif
        if (!tree_finite(x))
            return -1;
        x[test % tree_FEATURES] = 1 / zero;
        if (tree_finite(x))
            return -1;
        x[test % tree_FEATURES] = zero / zero;
        if (tree_finite(x))
            return -1;
    }
    return 0;
}

#ifdef DTSEMNET_POP_OPTIONS
#pragma GCC pop_options
#undef DTSEMNET_POP_OPTIONS
#endif
#ifdef DTSEMNET_POP_CONTROL
#pragma float_control(pop)
#undef DTSEMNET_POP_CONTROL
#endif
#endif
