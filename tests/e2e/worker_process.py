"""Starts one real inferd-worker by hand, on a unix socket in a folder of its own."""
import json
import os
import pathlib
import subprocess

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from daemon import BIN, wait_for


def said(error):
    """What a worker refused a call with: the field at fault, which is a trailer, before the text."""
    field = dict(error.trailing_metadata()).get("inferd-error-field-bin", b"").decode()
    return f"{field}: {error.details()}" if field else error.details()


class Worker:
    """with Worker(tmp_path, model_path, protos) as worker: worker.stub.Generate(...)"""

    def __init__(self, folder, model_path, protos, arguments=(), start=True, **model):
        self.folder = pathlib.Path(folder)
        self.protos = protos
        self.config_path = self.folder / "worker.yaml"
        self.log_path = self.folder / "worker.log"
        self.address = f"unix:{self.folder}/w.sock"
        self.arguments = list(arguments)
        self.config_path.write_text(json.dumps({
            "run_directory": str(self.folder), "supervisor": {"drain": "20s"},
            "models": [{"name": "test", "path": str(model_path), "aliases": ["other"], **model}]}))
        self.lifeline = self.report = self.process = None
        if start:
            self.start()
            self.wait_until_serving()

    def start(self):
        lifeline_read, self.lifeline = os.pipe()
        self.report, report_write = os.pipe()
        self.process = subprocess.Popen(
            [BIN / "inferd-worker", "--config", self.config_path, "--model", "test", "--model-version", "7",
             "--listen", self.address, "--lifeline-fd", str(lifeline_read), "--report-fd", str(report_write),
             *self.arguments],
            stderr=self.log_path.open("a"), pass_fds=[lifeline_read, report_write])
        os.close(lifeline_read)
        os.close(report_write)
        self.channel = grpc.insecure_channel(self.address)
        self.stub = self.protos.inference_grpc.InferenceStub(self.channel)
        self.worker_stub = self.protos.worker_grpc.WorkerStub(self.channel)

    def health(self, service="inferd.v1.Inference"):
        try:
            reply = health_pb2_grpc.HealthStub(self.channel).Check(health_pb2.HealthCheckRequest(service=service))
            return health_pb2.HealthCheckResponse.ServingStatus.Name(reply.status)
        except grpc.RpcError:
            return None

    def wait_until_serving(self):
        wait_for(lambda: self.health() == "SERVING" or self.process.poll() is not None, what="the worker")
        assert self.process.poll() is None, self.log_path.read_text()

    def stats(self):
        return self.worker_stub.Stats(self.protos.worker.StatsRequest())

    def log(self):
        return [json.loads(line) for line in self.log_path.read_text().splitlines()]

    def report_text(self):
        field, text = os.read(self.report, 65536).decode().splitlines()
        return f"{field}: {text}" if field else text

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()
        for descriptor in (self.lifeline, self.report):
            try:
                os.close(descriptor)
            except OSError:
                pass
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
