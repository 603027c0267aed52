// Apps_MASS3DEA: the mass matrices of finite elements. With all indices in three directions,
// m[e][j][i] = sum over k of b[k1][i1] * b[k1][j1] * b[k2][i2] * b[k2][j2] * b[k3][i3] * b[k3][j3] * d[e][k].
#include "../extents.h"
#include "../ironsweep.h"

namespace {

using extents::DOFS;
using extents::POINTS;

struct Arguments {
    Array<const double> b;
    Array<const double> d;
    Array<double> m;
};

constexpr size_t PAIRS = DOFS * DOFS;
constexpr size_t ALL_POINTS = POINTS * POINTS * POINTS;

// b[k][i] * b[k][j] at pair [k][i + DOFS * j].
struct Products {
    double pairs[POINTS][PAIRS];

    explicit Products(const double* b) {
        for (size_t k = 0; k < POINTS; ++k) {
            for (size_t j = 0; j < DOFS; ++j) {
                for (size_t i = 0; i < DOFS; ++i) {
                    pairs[k][i + DOFS * j] = b[k + POINTS * i] * b[k + POINTS * j];
                }
            }
        }
    }
};

// How many p2 the innermost loops serve at once, so that enough additions are on their way to hide the time of each.
constexpr size_t LANES = 2;

// One element's matrix. p1, p2 and p3 are pairs of an i and a j in one direction each; the sums for all p1 fill
// vectors.
void element(const Products& products, const double* __restrict__ d, double* __restrict__ m) {
    for (size_t p3 = 0; p3 < PAIRS; ++p3) {
        // d times p3's products, at each point.
        double weights[ALL_POINTS];
        for (size_t k = 0; k < ALL_POINTS; ++k) {
            weights[k] = products.pairs[k / (POINTS * POINTS)][p3] * d[k];
        }
        for (size_t p2 = 0; p2 < PAIRS; p2 += LANES) {
            double sums[LANES][PAIRS] = {};
            for (size_t line = 0; line < ALL_POINTS; line += POINTS) {
                const double* product2 = &products.pairs[line / POINTS % POINTS][p2];
                for (size_t k1 = 0; k1 < POINTS; ++k1) {
                    for (size_t lane = 0; lane < LANES; ++lane) {
                        const double weight = product2[lane] * weights[line + k1];
                        for (size_t p1 = 0; p1 < PAIRS; ++p1) {
                            sums[lane][p1] += weight * products.pairs[k1][p1];
                        }
                    }
                }
            }
            for (size_t lane = 0; lane < LANES; ++lane) {
                for (size_t p1 = 0; p1 < PAIRS; ++p1) {
                    const size_t i = p1 % DOFS + DOFS * ((p2 + lane) % DOFS + DOFS * (p3 % DOFS));
                    const size_t j = p1 / DOFS + DOFS * ((p2 + lane) / DOFS + DOFS * (p3 / DOFS));
                    m[i + DOFS * DOFS * DOFS * j] = sums[lane][p1];
                }
            }
        }
    }
}

} // namespace

int ironsweep_repetition(const void* arguments, const ironsweep_problem* problem) {
    const auto& given = *static_cast<const Arguments*>(arguments);
    const Products products(given.b.data);
    const double* d = given.d.data;
    double* m = given.m.data;
    const size_t n = extents::elements(problem->size);
#pragma omp parallel for schedule(static)
    for (size_t e = 0; e < n; ++e) {
        element(products, d + ALL_POINTS * e, m + extents::ELEMENT_MATRIX * e);
    }
    return IRONSWEEP_OK;
}
