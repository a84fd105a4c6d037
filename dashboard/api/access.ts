/** The key and the tenant of this tab: kept in it alone, and gone with it. */
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
  // It may be right: that is seen when it is used.
  setRefused(false)
  changed.dispatchEvent(new Event('change'))
}

export function onAccess(listener: () => void): () => void {
  changed.addEventListener('change', listener)
  return () => changed.removeEventListener('change', listener)
}

let refused = false

/** Whether the server refused the key of this tab when it was asked last. */
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

/** A header takes bytes as characters. */
export function headerOf(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text))
}
