// The id that joins all log lines of a request and goes back in X-Request-Id.
//
//   std::string id = MakeRequestId(client_value);   // the client's where it is sane, else "req-" and 24 hex digits
#pragma once

#include <string>
#include <string_view>

namespace inferd::gateway {

// Sane: 1 to 128 of A-Z a-z 0-9 . _ : -
std::string MakeRequestId(std::string_view offered);

// `digits` random hex digits, at most 32.
std::string RandomHex(int digits);

// Of a generator that is seeded once by the system for each thread.
uint64_t RandomBits();

}  // namespace inferd::gateway
