import { z } from '#kernel'

const hosts = z.array(z.string().trim().toLowerCase().min(1).max(253))

/** The keys of section `tools` that limit where agents may connect. */
export const NetConfig = z.object({
  web_allow: hosts
    .default([])
    .describe('Hosts that agents may access; `example.org` includes its subdomains; empty allows all'),
  web_deny: hosts.default([]).describe('Hosts that agents may not access, including their subdomains'),
  web_allow_private: hosts
    .default([])
    .describe('`host:port` addresses in your own network that agents may access, such as 127.0.0.1:8888'),
})
export type NetConfig = z.infer<typeof NetConfig>
