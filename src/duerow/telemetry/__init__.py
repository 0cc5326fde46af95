"""Observability of queues: health, metrics, traces and logs.

Everything is off by default. The libraries are extras: `prometheus`, `opentelemetry`.
"""
