/**
 * Returns a valid `traceparent` (https://www.w3.org/TR/trace-context/#traceparent-header); undefined for anything else.
 */
export function traceparentOf(given: unknown): string | undefined {
  return typeof given === 'string' && /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(given) ? given : undefined
}
