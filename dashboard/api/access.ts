/** Key and tenant of this tab. They are stored in this tab only and are gone when it is closed. */
export interface Access {
  key: string
  tenant: string
}

const changed = new EventTarget()

export function access(): Access {
  return { key: sessionStorage.getItem('key') ?? '', tenant: sessionStorage.getItem('tenant') ?? '' }
}

export function setAccess({ key, tenant }: Access): void {
  sessionStorage.setItem('key', key)
  sessionStorage.setItem('tenant', tenant)
  // The new key may be valid: its first use shows.
  setRefused(false)
  changed.dispatchEvent(new Event('change'))
}

export function onAccess(listener: () => void): () => void {
  changed.addEventListener('change', listener)
  return () => changed.removeEventListener('change', listener)
}

let refused = false

/** Returns whether the server refused this tab's key at the last request. */
export const isRefused = () => refused

export function setRefused(now: boolean): void {
  if (now === refused) return
  refused = now
  changed.dispatchEvent(new Event('refused'))
}

export function onRefused(listener: () => void): () => void {
  changed.addEventListener('refused', listener)
  return () => changed.removeEventListener('refused', listener)
}

/** Encodes text for a header, whose characters each stand for one byte. */
export function headerOf(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text))
}
