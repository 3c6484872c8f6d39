/// The media types whose content has a rule: what `expect.type` may name.
package enum MediaTypeRule {
  package static let supported = [
    "image/jpeg", "image/png", "application/pdf", "video/mp4", "application/zip",
  ]
}
