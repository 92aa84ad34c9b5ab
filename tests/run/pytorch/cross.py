import math
import torch
from torch import nn

torch.manual_seed(1)
x = torch.randn(1, 3, 8)
memory = torch.randn(1, 5, 6)


class CrossAttention(nn.Module):
    def __init__(self, width, memory_width):
        super().__init__()
        self.to_q = nn.Linear(width, width, bias=False)
        self.to_k = nn.Linear(memory_width, width, bias=False)
        self.to_v = nn.Linear(memory_width, width, bias=False)
        self.to_out = nn.Linear(width, width, bias=False)

    def forward(self, x, memory):
        q, k, v = self.to_q(x), self.to_k(memory), self.to_v(memory)
        weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1)
        return self.to_out(weights @ v), weights


output, weights = CrossAttention(8, 6)(x, memory)
print(weights[0])
print(output[0, 0])
