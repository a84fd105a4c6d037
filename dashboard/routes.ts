import { useEffect, useState } from 'preact/hooks'

/**
 * Place of the reader: `#/agents/coder-1a2b3c4d/memory?q=parser` has the page `agents`, two parts and one parameter.
 */
export interface Place {
  page: string
  parts: readonly string[]
  query: Readonly<Record<string, string>>
}

function placeOf(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  const [page = '', ...parts] = path.split('/').map(decodeOrSame)
  return { page, parts: parts.filter(Boolean), query: Object.fromEntries(new URLSearchParams(query)) }
}

/** Returns the address of a place, for links, with every part escaped. */
export function to(
  page: string,
  parts: readonly string[] = [],
  query: Record<string, string | undefined> = {},
): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))
  const search = given.length > 0 ? `?${new URLSearchParams(given)}` : ''
  return `#/${[page, ...parts].map(encodeURIComponent).join('/')}${search}`
}

export function go(address: string): void {
  location.hash = address
}

/** Changes the parameters of the current address, without a new entry in the history. */
export function refine(query: Record<string, string | undefined>): void {
  const { page, parts, query: had } = placeOf(location.hash)
  history.replaceState(history.state, '', to(page, parts, { ...had, ...query }))
  dispatchEvent(new HashChangeEvent('hashchange'))
}

export function usePlace(): Place {
  const [place, setPlace] = useState(() => placeOf(location.hash))
  useEffect(() => {
    const onHashChange = () => setPlace(placeOf(location.hash))
    addEventListener('hashchange', onHashChange)
    return () => removeEventListener('hashchange', onHashChange)
  }, [])
  return place
}

function decodeOrSame(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
