import { useEffect, useRef } from 'preact/hooks'
import { access, setAccess } from '../api/access.ts'
import { toast } from '../ui/toasts.tsx'

/** The key and the tenant, where the server asks for them. Opens by itself when the key is wrong. */
export function AccessForm({ wanted }: { wanted: boolean }) {
  const details = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    if (wanted && details.current) details.current.open = true
  }, [wanted])
  const use = (event: SubmitEvent) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    setAccess({ key: String(form.get('key')).trim(), tenant: String(form.get('tenant')).trim() })
    details.current!.open = false
    toast('Used from now on.')
  }
  const { key, tenant } = access()
  return (
    <details class="access" ref={details}>
      <summary>Access</summary>
      <form onSubmit={use}>
        {wanted && <p class="trouble">The key is missing or wrong.</p>}
        <label>
          Key
          <input name="key" type="password" autocomplete="off" spellcheck={false} defaultValue={key} />
        </label>
        <label>
          Tenant
          <input
            name="tenant"
            autocomplete="off"
            spellcheck={false}
            placeholder="default"
            pattern="[A-Za-z0-9._@\-]{1,128}"
            defaultValue={tenant}
          />
        </label>
        <button type="submit">Use</button>
        <p class="hint">Kept in this tab only.</p>
      </form>
    </details>
  )
}
