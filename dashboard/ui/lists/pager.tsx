import type { ComponentChildren } from 'preact'
import { type Query, type QueryOptions, useLasting, useQuery } from '../../api/query.ts'
import { type Place, refine, usePlace } from '../../routes.ts'
import { Empty } from '../states.tsx'
import { integer, plural } from '../text/format.ts'

/** Number of rows on one page of a list. */
const PAGE = 50

interface Window {
  limit: number
  offset: number
}

/** Returns the range of the page in the address, counted from 1, in the form that the server expects. */
export function windowOf({ query: { page } }: Place): Window {
  const number = Number(page)
  const at = Number.isSafeInteger(number) && number > 1 ? number - 1 : 0
  return { limit: PAGE, offset: at * PAGE }
}

interface PagerProps {
  /** Number of rows on this page. */
  shown: number
  /** Number of rows on all pages, if known. */
  total?: number
  hasNext: boolean
}

interface PageButtonProps {
  onGo: () => void
  isEnd: boolean
  small?: boolean
  children: string
}

/** Button to another part of a list. It keeps the focus where the list ends: the keyboard would start at the top. */
export function PageButton({ onGo, isEnd, small = false, children }: PageButtonProps) {
  return (
    <button type="button" class={small ? 'small' : ''} aria-disabled={isEnd} onClick={isEnd ? undefined : onGo}>
      {children}
    </button>
  )
}

/** Links to the pages before and after; nothing if there is only one. */
export function Pager({ shown, total, hasNext }: PagerProps) {
  const { offset } = windowOf(usePlace())
  if (offset === 0 && !hasNext) return null
  const at = offset / PAGE + 1
  const go = (page: number) => {
    refine({ page: page > 1 ? String(page) : undefined })
    scrollTo(0, 0)
  }
  return (
    <nav class="pager" aria-label="Pagination">
      <PageButton isEnd={offset === 0} onGo={() => go(at - 1)}>
        Previous page
      </PageButton>
      <span role="status">
        {shown > 0 ? `${integer(offset + 1)}–${integer(offset + shown)}` : 'None'}
        {total !== undefined && ` of ${integer(total)}`}
      </span>
      <PageButton isEnd={!hasNext} onGo={() => go(at + 1)}>
        Next page
      </PageButton>
    </nav>
  )
}

interface ListPage<T> {
  /** The rows of this page. */
  query: Query<readonly T[]>
  /** Whether the whole list is empty. */
  isEmpty: boolean
  /** Returns the number of rows, or only what they are if there are more pages. */
  title(one: string, many: string): string
  /** Links to the pages before and after, below a message if this page has no rows. */
  pager: ComponentChildren
}

interface AskedPage<T> extends Pick<QueryOptions<unknown>, 'on'> {
  /** What the list is narrowed to, as part of the query's key. */
  filter?: string
  ask: (window: Window) => Promise<readonly T[]>
}

/**
 * Returns one page of a list on the server. One row more than a page holds is requested, which shows whether there is a
 * next page.
 * @param of names the list; its last rows stay in place while others are loaded
 */
export function usePage<T>(of: string, { filter = '', ask, on }: AskedPage<T>): ListPage<T> {
  const { limit, offset } = windowOf(usePlace())
  const fresh = useQuery(`${of} ${filter} from ${offset}`, {
    ask: () => ask({ limit: limit + 1, offset }),
    ...(on ? { on } : {}),
  })
  const query = useLasting(of, fresh)
  const rows = query.data?.slice(0, limit)
  const hasNext = (query.data?.length ?? 0) > limit
  return {
    query: { ...query, data: rows },
    isEmpty: offset === 0 && rows?.length === 0,
    title: (one, many) => (offset === 0 && !hasNext ? plural(rows?.length ?? 0, one) : many),
    pager: (
      <>
        {rows?.length === 0 && <Empty title={offset === 0 ? 'No matching entries.' : 'No entries on this page.'} />}
        <Pager shown={rows?.length ?? 0} hasNext={hasNext} />
      </>
    ),
  }
}
