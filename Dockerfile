FROM node:24-bookworm-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends python3 make g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY . .
# Optional packages are development dependencies of the checkout; saved as dependencies, they stay when these are removed.
RUN npm ci && \
  npm install --ignore-scripts --save-prod @anthropic-ai/sdk pg @opentelemetry/api @opentelemetry/resources \
    @opentelemetry/sdk-metrics @opentelemetry/sdk-trace-base \
    @opentelemetry/exporter-metrics-otlp-proto @opentelemetry/exporter-trace-otlp-proto && \
  npm prune --omit=dev

FROM node:24-bookworm-slim
RUN apt-get update && apt-get install --yes --no-install-recommends bubblewrap git && rm -rf /var/lib/apt/lists/*
COPY --from=build /app /app
RUN ln -s /app/dist/svc.js /usr/local/bin/svc && mkdir /project && chown node:node /project
USER node
WORKDIR /project
VOLUME /project
ENV SVC_TRUST_PROJECT=true
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD node -e "fetch('http://127.0.0.1:8000/healthz').then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"
ENTRYPOINT ["/bin/sh", "-c", "svc init --quiet && exec svc serve --with-daemon --host 0.0.0.0 \"$@\"", "svc"]
