import type { ComponentChildren } from 'preact'
import type { Fault } from '../api/client.ts'
import type { Query } from '../api/query.ts'
import { visible, withLocalTimes } from './text/words.ts'

/** What went wrong: the server's sentence, and where several things are wrong, each of them. */
export function Trouble({ fault, retry }: { fault: Fault | undefined; retry?: () => void }) {
  if (!fault) return null
  return (
    <div class="trouble" role="alert">
      <p>{visible(withLocalTimes(fault.message))}</p>
      {fault.errors.length > 1 && (
        <ul>
          {fault.errors.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              <code>{visible(path)}</code> {visible(message)}
            </li>
          ))}
        </ul>
      )}
      {retry && (
        <button type="button" class="small" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

interface EmptyProps {
  title: string
  children?: ComponentChildren
  /** Buttons, where what to do about it can be done at once. */
  actions?: ComponentChildren
}

/** There is nothing, and what to do about it. */
export function Empty({ title, children, actions }: EmptyProps) {
  return (
    <div class="empty">
      <p class="title">{title}</p>
      {children && <p>{children}</p>}
      {actions && <div class="row">{actions}</div>}
    </div>
  )
}

interface LoadedProps<T> {
  query: Query<T>
  children: (data: T) => ComponentChildren
  /** Shows trouble below the data, so that it does not move them. */
  below?: boolean
}

/** What a query is in: its trouble, its first loading, or what it brought. What was known stays while there is trouble. */
export function Loaded<T>({ query, children, below = false }: LoadedProps<T>) {
  const { data, fault, reload } = query
  const trouble = <Trouble fault={fault} retry={reload} />
  return (
    <>
      {!below && trouble}
      {data === undefined ? !fault && <Skeleton /> : children(data)}
      {below && trouble}
    </>
  )
}

function Skeleton() {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      <i />
      <i />
      <i />
    </div>
  )
}
