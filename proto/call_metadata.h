// Metadata of calls between our processes, beside the messages.
//
//   context.AddInitialMetadata(kWorkBegun, "1");
#pragma once

namespace inferd {

// Of a worker's answer, sent before it does anything with what the request says: if the worker dies from now on, it may
// have died of the request. (Until the call has it, and after Generate's `waiting`, it did not.) Of Embed, where others
// come first: sent when the engine takes it.
inline constexpr char kWorkBegun[] = "inferd-work-begun";

// Trailer of a call that failed: the code of the HTTP API's table of errors (gateway/serving/errors.h). A worker sends
// it where the status code alone does not tell which, the gateway to clients wherever the table has one.
inline constexpr char kErrorCode[] = "inferd-error-code";
inline constexpr char kDeadlineTooShort[] = "deadline_too_short";

// Trailer of a call that failed: path of the field of the request at fault, such as "chat.messages[2].role", in UTF-8.
// The text of a worker's status does not name it, the gateway's to clients does.
inline constexpr char kErrorField[] = "inferd-error-field-bin";

}  // namespace inferd
