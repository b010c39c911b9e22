"""Fetches metrics as Prometheus does and reads them with its own client library, strictly.

Prints JSON: the media type, and each sample as [type of its family, name, labels, value].
"""

import json
import sys
import urllib.request

from prometheus_client.openmetrics.parser import text_string_to_metric_families

accept = {"Accept": "application/openmetrics-text; version=1.0.0"}
with urllib.request.urlopen(urllib.request.Request(sys.argv[1], headers=accept), timeout=10) as page:
    kind = page.headers["Content-Type"]
    text = page.read().decode("utf-8")
samples = []
for family in text_string_to_metric_families(text):
    assert family.documentation, family.name
    samples += [[family.type, s.name, s.labels, float(s.value)] for s in family.samples]
print(json.dumps({"kind": kind, "samples": samples}))
