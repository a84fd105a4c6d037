/** Reads a response's decompressed body up to a limit; the rest is not received. */
export async function readBody(response: Response, limit: number): Promise<{ bytes: Uint8Array; truncated: boolean }> {
  const parts: Uint8Array[] = []
  let length = 0
  const reader = response.body?.getReader()
  for (;;) {
    const part = await reader?.read()
    if (!part || part.done) return { bytes: Buffer.concat(parts), truncated: false }
    parts.push(part.value)
    length += part.value.length
    if (length <= limit) continue
    await reader?.cancel()
    return { bytes: Buffer.concat(parts).subarray(0, limit), truncated: true }
  }
}
