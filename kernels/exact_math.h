// Elementary functions in double with the same bits on every machine: libm's differ by version and by CPU.
//
//   inverse_frequency[i] = exact::Pow(base, -2.0 * i / rotated);
//
// Each is a fixed sequence of IEEE operations. Bounds hold for results in the range of normal numbers and are tested
// against a 64-bit significand calculation. NaN gives NaN.
#pragma once

namespace inferd::kernels::exact {

double Exp(double x);            // within 1 ulp; +infinity above 709.79, 0 below -745.14
double Log(double x);            // within 1 ulp; -infinity at 0, NaN below
double Pow(double x, double y);  // x > 0: exp(y * log(x)), relative error below 2^-52 * (1 + |y * log(x)|)
double Sin(double x);            // absolute error below 2^-52 for |x| < 2^30, NaN beyond
double Cos(double x);

}  // namespace inferd::kernels::exact
