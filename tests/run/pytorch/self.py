import math
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(2, 4, 8)


class SelfAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)

    def forward(self, x):
        scores = self.query(x) @ self.key(x).transpose(-2, -1) / math.sqrt(x.size(-1))
        weights = torch.softmax(scores, dim=-1)
        return weights @ self.value(x), weights


output, weights = SelfAttention(8)(x)
print(weights[0])
print(output[0, 0])
