"""Builds what the API answers as a report."""

from muster.api.usage_report import ReportLineOut
from muster.domain.usage.usage_report import ReportLine


def report_line_view(line: ReportLine) -> ReportLineOut:
    return {
        "group": line.group,
        "jobs": line.jobs,
        "gpuHours": round(line.gpu_h, 3),
        "idleGpuHours": round(line.idle_gpu_h, 3),
        "unmeasuredGpuHours": round(line.unmeasured_gpu_h, 3),
        "gpuPercent": None if line.gpu_percent is None else round(line.gpu_percent, 1),
        "cpuHours": round(line.cpu_h, 3),
        "usedCpuHours": round(line.used_cpu_h, 3),
        "medianWaitS": None if line.median_wait_s is None else round(line.median_wait_s, 1),
        "p95WaitS": None if line.p95_wait_s is None else round(line.p95_wait_s, 1),
        "failures": dict(line.failures),
        "slowness": None if line.slowness is None else round(line.slowness, 3),
    }
