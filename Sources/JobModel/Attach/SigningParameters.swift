/// Parameters of a query that make a URL a credential: signatures of S3, Google's and Azure's stores, and tokens.
package enum SigningParameters {
  /// In lower case.
  package static let names: Set<String> = [
    "x-amz-signature", "x-amz-credential", "x-amz-security-token", "x-goog-signature", "x-goog-credential",
    "signature", "sig", "token", "access_token", "awsaccesskeyid",
  ]
}
