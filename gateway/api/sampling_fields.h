// The fields that say how tokens are chosen, which all requests for a generation have: temperature, top_p, penalties,
// logit_bias, seed and the like.
//
//   RETURN_IF_ERROR(ReadSamplingFields(fields, *request.mutable_sampling()));
//   RETURN_IF_ERROR(ReadSeed(fields, request));
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "gateway/json/fields.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {

// All but the seed. INVALID_ARGUMENT names the field, as for the others here.
absl::Status ReadSamplingFields(Fields& fields, v1::Sampling& sampling);

// Any integer of 64 bits; negative ones mean "random", as in other servers.
absl::Status ReadSeed(Fields& fields, v1::GenerateRequest& request);

// An array of ids; none where it is absent.
absl::Status ReadTokenIds(Fields& fields, std::string_view name, google::protobuf::RepeatedField<int32_t>& ids);

}  // namespace inferd::gateway
