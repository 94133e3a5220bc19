// erf: x + x P(x²) up to |x| = 1; from there 1 - 2^-H(|x|) (f32) or
// 1 - exp(-G(|x|)) (f64) where H and G are logarithms of erfc, of which few
// bits are needed. Minimax polynomials as in Exp.cpp.
#include "compiler/codegen/math/Functions.h"

namespace stint::codegen::math {

/// 1 - erfc(u) for u in [1, 3.92].
static Float large32(Float u) {
  // -log2(erfc(u)), 2^-29.7 of the result.
  Float h = polynomial(
      u, {0.000462527649, 1.62616479, 0.920457363, 0.148912057, -0.0315798707, 0.00427047163, -0.000270645949});
  Float biased = 0x1.8p23 + 127 - h;
  Float f = (0x1.8p23 + 127 - biased) - h;
  // 2^f on [-1/2, 1/2], 2^-23.3.
  Float p = polynomial(f, {1.0, 0.693147004, 0.240222245, 0.0555065311, 0.00967244059, 0.00132974761});
  return fma(-p, powerOfTwo(bitsOf(biased)), 1.0);
}

/// 1 - erfc(u) for u in [1, 5.95].
static Float large64(Float u) {
  // -log(erfc(1 + t)), 2^-56 of the result.
  Float g =
      polynomial(u - 1.0, {1.8496055099332482, 2.638967514234779, 0.8431072563592772, 0.04156109802751095,
                           -0.010033825202307594, 0.0019779013491466623, -0.00023731693405397, -2.62950476000229e-05,
                           2.719665406828329e-05, -9.668340491769445e-06, 2.12903092153622e-06, -2.0276509081435152e-07,
                           -5.9064885202613404e-08, 3.378190624499383e-08, -8.620176434107498e-09,
                           1.3365453688723402e-09, -1.2110820393578727e-10, 4.946770474454122e-12});
  return 1.0 - exp(-g);
}

Float erf(Float x) {
  Float u = atMost(abs(x), x.a->is32 ? 3.92 : 5.95), z = u * u;
  // erf(u)/u - 1 in z, 2^-24.6 and 2^-55.6.
  Float p = x.a->is32
                ? polynomial(z, {0.128379121, -0.37612319, 0.112801127, -0.0267091691, 0.00491482066, -0.000561938796})
                : polynomial(z, {0.12837916709551256, -0.37612638903183343, 0.11283791670936937, -0.026866170641947275,
                                 0.0052239775964685355, -0.000854832546198962, 0.00012055279490116425,
                                 -1.492444039595301e-05, 1.644377120470529e-06, -1.6180610542079085e-07,
                                 1.3600214564389916e-08, -7.573907490362403e-10});
  Float small = fma(u, p, u), large = x.a->is32 ? large32(u) : large64(u);
  return copySign(select(u >= 1.0, large, small), x);
}

} // namespace stint::codegen::math
