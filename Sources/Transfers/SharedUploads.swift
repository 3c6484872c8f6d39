/// What the uploads of a run share: memory for chunks, and what they have found out of servers.
struct SharedUploads: Sendable {
  let budget: BufferBudget
  let chunkLimits = ChunkLimits()
  let chunkTurns = ChunkTurns()
  let adoptions = AdoptionWatch()
  let intents = IntentCache()
  let etags = ETagMeanings()
  let tagging = TaggingStores()
  let keeping = KeepingStores()
  /// Servers that have refused to copy by themselves, whatever the object.
  let relayed = WarnOnce()
}
