// The pointers among a kernel's arguments, also inside of structs.
//
//   VisitPointers(arguments, [](const void* pointer, bool to_pointers) { ... });
#pragma once

#include <boost/pfr.hpp>
#include <type_traits>

namespace inferd::kernels::gpu_emulator {

// visit(pointer, whether what it points to are pointers). nullptr is left out.
template <class T, class Visit>
void VisitPointers(const T& value, const Visit& visit) {
  if constexpr (std::is_pointer_v<T>) {
    if (value != nullptr) visit(value, std::is_pointer_v<std::remove_pointer_t<T>>);
  } else if constexpr (std::is_class_v<T>) {
    boost::pfr::for_each_field(value, [&](const auto& field) { VisitPointers(field, visit); });
  } else {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>, "not an argument of kernels");
  }
}

}  // namespace inferd::kernels::gpu_emulator
