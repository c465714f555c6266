/* The counts, the loss, the largest probability and the entropy of a row of float32 logits.
 *
 * A row is read twice, the second time from the cache: the largest logit must be known before the
 * exponentials. The loops over LANES are what a compiler turns into vector instructions; sums are
 * in the order written here, so the bits depend on no thread count and no width of a vector.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define LANES 32
#define BLOCK 4096 /* entries summed in float before the sum goes on in double */

/* exp(x), x in [-87, 0], to two units in the last place: 2^n times a polynomial (Cephes, expf). */
static inline float exponential(float x) {
    float shifted = x * 1.44269504f + 12582912.0f; /* + 1.5 x 2^23 rounds to an integer */
    float n = shifted - 12582912.0f;
    float r = x - n * 0.693359375f + n * 2.12194440e-4f; /* x - n ln 2, ln 2 in two parts */
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * r + 1.0f) * r + 1.0f;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 23) + 0x3f800000; /* the low bits of `shifted` are n */
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

static inline void compare(float x, float target, int32_t *greater, int32_t *equal, float *low,
                           float *top) {
    *greater += x > target;
    *equal += x == target;
    *low = x < *low ? x : *low;
    *top = x > *top ? x : *top;
}

static inline void add(float x, float top, float *total, float *moment) {
    float d = x - top;
    d = d < -87.0f ? -87.0f : d; /* this way round NaN stays NaN */
    float power = exponential(d);
    *total += power;
    *moment += d * power;
}

/* logits: rows of V floats, `stride` floats apart. targets: columns in [0, V). The other arrays
 * have one entry per row; finite[i] is 0 if row i holds NaN or an infinite logit, and then its
 * other results mean nothing. */
void rank_rows(const float *logits, int64_t stride, const int64_t *targets, int64_t rows, int64_t V,
              int32_t *n_greater, int32_t *n_equal, float *nll, float *p_max, float *entropy,
              uint8_t *finite) {
    for (int64_t i = 0; i < rows; i++) {
        const float *x = logits + i * stride;
        const float target = x[targets[i]];
        int32_t greater[LANES] = {0}, equal[LANES] = {0};
        float low[LANES], top[LANES];
        for (int k = 0; k < LANES; k++) low[k] = top[k] = target;
        int64_t j = 0;
        for (; j + LANES <= V; j += LANES)
            for (int k = 0; k < LANES; k++)
                compare(x[j + k], target, &greater[k], &equal[k], &low[k], &top[k]);
        for (; j < V; j++) compare(x[j], target, greater, equal, low, top);
        for (int k = 1; k < LANES; k++) {
            greater[0] += greater[k];
            equal[0] += equal[k];
            low[0] = low[k] < low[0] ? low[k] : low[0];
            top[0] = top[k] > top[0] ? top[k] : top[0];
        }
        double total = 0, moment = 0; /* sums of exp(d) and of d exp(d), d = x - the largest */
        for (int64_t start = 0; start < V; start += BLOCK) {
            const int64_t end = start + BLOCK < V ? start + BLOCK : V;
            float totals[LANES] = {0}, moments[LANES] = {0};
            for (j = start; j + LANES <= end; j += LANES)
                for (int k = 0; k < LANES; k++) add(x[j + k], top[0], &totals[k], &moments[k]);
            for (; j < end; j++) add(x[j], top[0], totals, moments);
            for (int k = 0; k < LANES; k++) {
                total += totals[k];
                moment += moments[k];
            }
        }
        n_greater[i] = greater[0];
        n_equal[i] = equal[0] - 1; /* 1: the target itself */
        nll[i] = (float)(log(total) + ((double)top[0] - target));
        p_max[i] = (float)(1 / total);
        entropy[i] = (float)(log(total) - moment / total);
        finite[i] = isfinite(total) && isfinite(low[0]); /* NaN and +inf are in the total */
    }
}
