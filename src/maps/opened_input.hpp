#pragma once

#include <variant>

#include "attn/document.hpp"
#include "attn/maps.hpp"

#include "document/document.hpp"
#include "maps/filed_maps.hpp"

namespace attn {

/// An input with maps: a document, which is computed, or files of maps that exist already.
using OpenedInput = std::variant<Document, MapFiles>;

/// Opens the input of the options, a file or a folder with a result, and the further files of
/// `maps`; without an input the options are the document. A JSON object without a kind of attention
/// or a model is a document if it holds no weights, and `maps` chooses no tensor of it. Throws
/// Error(file), Error(input), or Error(usage) if `maps` chooses something for a document.
OpenedInput open_input(const DocumentOptions& options, const MapRequest& maps);

/// The selection of existing maps: DocumentOptions::heads, into which tensors of a document are
/// split, is of maps the one head that is chosen, unless the selection chooses heads itself.
MapSelection selection_of_maps(MapSelection selection, const DocumentOptions& options);

/// The options of an input that is compared with that of `options`: what changes a model there, an
/// adapter, heads that are off and parts from another text, changes that one alone.
DocumentOptions without_changes(DocumentOptions options);

/// Throws Error(usage) at `field` for the folder of a result that is compared with a model.
void refuse_result_beside_model(const std::filesystem::path& against, const char* field);

/// Has a model compute the maps of the layers of the selection alone. Returns false, without a
/// change, if these are not given by their numbers.
bool choose_layers(const MapSelection& selection, Document& document);

/// Throws Error(usage) naming the field of a request that says how tensors of files are taken.
void refuse_choice_of_files(const MapRequest& maps);

/// Throws Error(usage) naming the field of a MapRequest if it is `given` for a document.
void refuse_for_document(bool given, const char* field);

}  // namespace attn
