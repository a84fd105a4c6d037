import { McpPrompts, McpResources } from '#interfaces/mcp/contract'
import { definePlugin, z } from '../../../kernel/index.ts'

/** What the conformance suite requests by name, as far as operations, resources and prompts allow. */
export const asked = definePlugin({
  name: 'conformance',
  setup(svc) {
    const tool = (name: string, run: (progress: (message: string) => void) => string | Promise<string>) =>
      svc.operation({
        name,
        summary: `Asked for by the suite: ${name}`,
        input: z.object({}),
        output: z.string(),
        mcp: true,
        run: (_input, call) => run(message => call.progress(message)),
      })
    const steps = async (progress: (message: string) => void) => {
      for (const step of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        progress(step)
        await svc.clock.sleep(50)
      }
      return 'done'
    }
    tool('test_simple_text', () => 'This is a simple text response for testing.')
    tool('test_tool_with_logging', steps)
    tool('test_tool_with_progress', steps)
    tool('test_error_handling', () => {
      throw new Error('This tool intentionally returns an error for testing')
    })
    const read = (name: string) =>
      svc.operation({
        name,
        summary: name,
        input: z.object({ id: z.string().optional() }),
        output: z.unknown(),
        run: ({ id }) => ({ id, text: 'content' }),
      })
    read('test.read')
    const resource = { title: 'Test', description: 'Asked for by the suite', operation: 'test.read' }
    svc.add(McpResources, { uri: 'test://static-text', ...resource })
    svc.add(McpResources, { uri: 'test://example-resource', ...resource })
    svc.add(McpResources, { uri: 'test://watched-resource', ...resource })
    svc.add(McpResources, { uri: 'test://template/{id}/data', ...resource, input: { id: '{id}' } })
    const prompt = { title: 'Test', description: 'Asked for by the suite' }
    const argument = (name: string) => ({ name, description: name, required: true })
    svc.add(McpPrompts, { name: 'test_simple_prompt', ...prompt, arguments: [], text: 'This is a simple prompt.' })
    svc.add(McpPrompts, {
      name: 'test_prompt_with_arguments',
      ...prompt,
      arguments: [argument('arg1'), argument('arg2')],
      text: "Prompt with arguments: arg1='{arg1}', arg2='{arg2}'",
    })
    svc.add(McpPrompts, {
      name: 'test_prompt_with_embedded_resource',
      ...prompt,
      arguments: [argument('resourceUri')],
      text: 'Please look at the resource.',
      attach: ['{resourceUri}'],
    })
  },
})
