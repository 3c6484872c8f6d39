package import JobModel

/// Which multipart uploads of the key are open (docs.aws.amazon.com/AmazonS3/latest/API/API_ListMultipartUploads.html).
extension S3Upload {
  package func listSessions() -> Request? {
    // Keys come in order, so the key itself before all that begin with it: one page has its uploads.
    var place = root
    let prefix = WebURL.encode(key, keepingSlash: false)
    place.query = "encoding-type=url&max-uploads=1000&prefix=\(prefix)&uploads="
    return Request("GET", place, headers: ["x-amz-content-sha256": S3Payload.empty])
  }

  package func listedSessions(_ response: Response, now: Double) -> Result<[OpenSession], Failure> {
    guard response.status == 200, !refuses(response) else {
      return refused(response, "list the uploads that are open", now)
    }
    guard let root = XMLTree.read(response.body), S3List.isOne(root, of: "Upload") else {
      return .failure(violation("\(response.url) did not answer with a list of uploads", response))
    }
    let isEncoded = root["EncodingType"] == "url"
    return .success(
      root.all("Upload").compactMap { item in
        guard let name = item.exact("Key"), let id = item["UploadId"], !id.isEmpty,
          let openedAt = item["Initiated"].flatMap(Timestamp.seconds)
        else { return nil }
        // By bytes, as the store compares keys.
        let found = isEncoded ? WebURL.decode(name.replacing("+", with: " ")) : name
        return found.utf8.elementsEqual(key.utf8) ? OpenSession(id: id, openedAt: openedAt) : nil
      })
  }
}
