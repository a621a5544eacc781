// tenon/tenon.hpp: Tenon for C++17 and later, in one header over the C API; the library holds no C++.
//
//     #include <tenon/tenon.hpp>
//     using namespace tenon;
//
//     tensor w = randn({3, 2}, tensor_options().requires_grad());
//     tensor loss = mean((x.matmul(w) - y).square());
//     loss.backward();
//     print(w.grad());
//     print(sum(w, sum_options().dim(0).keepdim()));
//
// A tensor, module, optimizer or loader owns one reference and gives it back at the end of its life; copies are further
// references to the same. Scopes (tenon/scope.h) are not needed; where one is open, what is made here does not belong to it.
// An operation is a function, tenon::exp(x), and where its first operand is a tensor a method, x.exp(); names, results and
// texts are those of the C API, tenon/ops.h. A call that fails throws tenon::error with the C text, and the line of the call.
// What may be left out is said by chained calls of an options object.
#ifndef TENON_TENON_HPP
#define TENON_TENON_HPP

#include <tenon/nn.hpp>
#include <tenon/tensor.hpp>

#endif
